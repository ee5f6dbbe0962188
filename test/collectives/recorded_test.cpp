// A recorded communicator means the same, and what it writes down is what happened.
#include "collectives/recorded.h"

#include <cmath>
#include <cstring>

#include "collectives/backends/local.h"
#include "collectives/control_scope.h"
#include "test/conformance/conformance.h"
#include "test/support/catch.h"
#include "test/support/run_shared.h"

using namespace ringlet;        // NOLINT(google-build-using-namespace)
using namespace ringlet::test;  // NOLINT(google-build-using-namespace)

namespace {

Recorder everything(int rank) {
  return {.history = std::make_shared<CallHistory>(rank),
          .ledger = std::make_shared<Ledger>(),
          .timeline = std::make_shared<Timeline>()};
}

// body(world, recorder) on P ranks, recorded; rank 0's recorder comes back.
Recorder recorded(int P, const std::function<void(Communicator&, const Recorder&)>& body) {
  Recorder first;
  const auto hub = std::make_shared<MailboxHub>(P, std::chrono::seconds(20));
  run_ranks(P, [&](Communicator& outer) {
    const Recorder mine = everything(outer.rank());
    const auto world = make_recorded(make_p2p(hub->join(outer.rank()), "threads"), mine);
    body(*world, mine);
    if (outer.rank() == 0) {
      first = mine;
    }
  });
  return first;
}

const LedgerRow& row_of(const Recorder& recorder, Operation operation, bool control = false) {
  static const LedgerRow none{.phase = "none"};
  for (const LedgerRow& row : recorder.ledger->rows()) {
    if (row.operation == operation && row.control == control) {
      return row;
    }
  }
  return none;
}

}  // namespace

TEST_CASE("a recorded communicator conforms like the one inside", "[recorded]") {
  std::vector<Report> reports(3);
  recorded(3,
           [&](Communicator& world, const Recorder&) { reports[static_cast<size_t>(world.rank())] = run_conformance(world); });
  for (const Report& report : reports) {
    for (const std::string& failure : report.failures()) {
      UNSCOPED_INFO(failure);
    }
    CHECK(report.failures().empty());
    CHECK(report.checks() > 0);
  }
}

TEST_CASE("payload is the least that must travel: 2(P-1)/P of an all_reduce, (P-1)/P of its halves", "[recorded]") {
  for (const int P : {1, 2, 3, 4, 8}) {
    INFO(P << " ranks");
    const int64_t n = 120;  // floats of a shard
    const Recorder books = recorded(P, [&](Communicator& world, const Recorder&) {
      std::vector<float> full(static_cast<size_t>(P * n)), shard(static_cast<size_t>(n));
      for (int round = 0; round < 2; ++round) {
        world.all_reduce(full, ReduceOp::Sum);
        world.start_reduce_scatter(full, shard, ReduceOp::Sum).wait();
        world.all_gather(shard, full);
        world.broadcast(full, 0);
        world.gather(shard, full, 0);
        world.scatter(full, shard, P - 1);
        world.all_gather_v(shard, full, std::vector<int64_t>(static_cast<size_t>(P), n));
        world.barrier();
      }
    });
    const int64_t T = 4 * P * n;
    CHECK(row_of(books, Operation::AllReduce).payload() == 2 * 2 * (P - 1) * T / P);
    CHECK(row_of(books, Operation::ReduceScatter).payload() == 2 * (P - 1) * T / P);
    CHECK(row_of(books, Operation::AllGather).payload() == 2 * (P - 1) * T / P);
    CHECK(row_of(books, Operation::Broadcast).payload() == 2 * (P - 1) * T / P);
    CHECK(row_of(books, Operation::AllGatherV).payload() == 2 * (P - 1) * T / P);
    CHECK(row_of(books, Operation::Gather).payload() == 2 * (P - 1) * T / P / P);
    CHECK(row_of(books, Operation::Scatter).payload() == 2 * (P - 1) * T / P / P);
    CHECK(row_of(books, Operation::Barrier).payload() == 0);
    for (const LedgerRow& row : books.ledger->rows()) {
      CHECK(row.calls == 2);
      CHECK(row.ranks == P);
      CHECK(row.seconds > 0);
    }
    if (P > 1) {  // the direct forms send that, and no more
      CHECK(row_of(books, Operation::ReduceScatter).moved->bytes == row_of(books, Operation::ReduceScatter).payload());
      CHECK(row_of(books, Operation::AllGather).moved->bytes == row_of(books, Operation::AllGather).payload());
      CHECK(row_of(books, Operation::AllGather).moved->messages == 2 * (P == 3 ? 2 : static_cast<int>(std::log2(P))));
    }
  }
}

TEST_CASE("control, phases and groups have rows of their own", "[recorded]") {
  const Recorder books = recorded(4, [](Communicator& world, const Recorder& mine) {
    std::vector<float> data(8);
    mine.begin_phase("first");
    world.all_reduce(data, ReduceOp::Sum);
    {
      const ControlScope control(world);
      world.all_reduce(data, ReduceOp::Max);
    }
    mine.begin_phase("second");
    world.all_reduce(data, ReduceOp::Sum);
    world.split(world.rank() % 2, 0)->all_reduce(data, ReduceOp::Sum);
  });
  std::vector<std::string> rows;
  for (const LedgerRow& row : books.ledger->rows()) {
    rows.push_back(message("{} {} {}{} {}", row.phase, row.group, row.operation, row.control ? " control" : "", row.payload()));
  }
  CHECK(rows == std::vector<std::string>{"first world all_reduce 48", "first world all_reduce control 48",
                                         "second world all_reduce 48", "second world split 0", "second world/0 all_reduce 32"});
}

TEST_CASE("the last 256 calls are kept, the oldest first, with what they were", "[recorded]") {
  constexpr int kLine = __LINE__ + 6;
  const Recorder books = recorded(2, [](Communicator& world, const Recorder&) {
    std::vector<int32_t> data(3);
    for (int i = 0; i < 300; ++i) {
      world.barrier();
    }
    world.start_reduce(data, data, ReduceOp::Max, 1).wait();
    world.rank() == 0 ? world.send(data, 1) : world.recv(data, 0);
  });
  const std::vector<CallRecord> calls = books.history->of(0);
  REQUIRE(calls.size() == CallHistory::kCalls);
  CHECK(calls.front().number == 47);
  for (size_t i = 1; i < calls.size(); ++i) {
    CHECK(calls[i].number == calls[i - 1].number + 1);
    CHECK(calls[i].start_ns >= calls[i - 1].start_ns + calls[i - 1].duration_ns);
    CHECK(calls[i].state == CallRecord::State::Done);
  }
  const CallRecord& reduce = calls[254];
  CHECK(reduce.operation == Operation::Reduce);
  CHECK(reduce.sequence == 301);
  CHECK(reduce.count == 3);
  CHECK(reduce.dtype == DType::I32);
  CHECK(reduce.op == ReduceOp::Max);
  CHECK(reduce.peer == 1);
  CHECK(std::string(reduce.group.data()) == "world");
  CHECK(reduce.site.view() == message("recorded_test.cpp:{}", kLine));
  CHECK(calls[255].operation == Operation::Send);
  CHECK(calls[255].sequence == 1);
}

TEST_CASE("a call that failed and one that nobody ended are told apart, and another rank can read both", "[recorded]") {
  const std::shared_ptr<std::byte> memory(
      static_cast<std::byte*>(::operator new(2 * CallHistory::bytes(), std::align_val_t(64))),
      [](std::byte* block) { ::operator delete(block, std::align_val_t(64)); });
  std::memset(memory.get(), 0, 2 * CallHistory::bytes());
  CallHistory mine(memory, 2, 0);
  CHECK(mine.readable() == std::vector<int>{0});
  {
    CallHistory theirs(memory, 2, 1);
    theirs.end(theirs.begin({.operation = Operation::Split, .sequence = 1}, "world"), CallRecord::State::Failed);
    theirs.begin({.operation = Operation::Barrier, .sequence = 2}, std::string(100, 'x') + "/end");
  }
  CHECK(mine.readable() == std::vector<int>{0, 1});
  CHECK(mine.of(0).empty());
  const std::vector<CallRecord> calls = mine.of(1);
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].state == CallRecord::State::Failed);
  CHECK(calls[1].state == CallRecord::State::Running);
  CHECK(std::string(calls[1].group.data()) == std::string(31, 'x') + "/end");
}

TEST_CASE("an operation under way is one span from its start to the end of its wait; one that fails ends there", "[recorded]") {
  const Recorder books = recorded(2, [](Communicator& world, const Recorder& mine) {
    std::vector<float> data(1000);
    Work first = world.start_all_reduce(data, ReduceOp::Sum);
    const int64_t between = Timeline::now_ns();
    first.wait();
    mine.timeline->add({.name = "between", .begin_ns = between, .end_ns = between});
    world.barrier();
  });
  const std::vector<Span>& spans = books.timeline->spans();
  REQUIRE(spans.size() == 3);
  CHECK(spans[0].name == "all_reduce");
  CHECK(spans[0].bytes == 4000);
  CHECK(spans[0].begin_ns <= spans[1].begin_ns);
  CHECK(spans[0].end_ns >= spans[1].end_ns);
  CHECK(spans[2].name == "barrier");
  CHECK(spans[2].sequence == 2);
  CHECK(spans[2].begin_ns >= spans[0].end_ns);
}

TEST_CASE("a recorder without books records nothing and changes nothing", "[recorded]") {
  const auto world = make_recorded(make_local(), {});
  std::vector<float> data{1, 2};
  world->all_reduce(data, ReduceOp::Sum);
  CHECK(data == std::vector<float>{1, 2});
  CHECK(world->sequence() == 1);
  CHECK(world->name() == "local");
}

TEST_CASE("recording goes on with the number at which the communicator stands", "[recorded]") {
  auto inner = make_local();
  inner->barrier();
  const auto world = make_recorded(std::move(inner), everything(0));
  world->barrier();
  CHECK(world->sequence() == 2);
}
