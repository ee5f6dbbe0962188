// What the books, the timeline and the history say of real training steps, and how they read as files.
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/training/call_history_file.h"
#include "apps/training/communication_report.h"
#include "apps/training/phase_spans.h"
#include "apps/training/start_watch.h"
#include "apps/training/trace_file.h"
#include "apps/training/training_run.h"
#include "test/apps/scratch_file.h"
#include "test/support/catch.h"
#include "test/support/run_ranks.h"

using namespace ringlet;
using Json = nlohmann::json;

namespace {

// What `steps` steps on P recorded ranks come to.
CommunicationReport books_of(const std::string& strategy, int P, int64_t steps, const std::string& trace = "") {
  CommunicationReport report;
  const auto hub = std::make_shared<MailboxHub>(P, std::chrono::seconds(20));
  test::run_ranks(P, [&](Communicator& outer) {
    const Recorder recorder = {.ledger = std::make_shared<Ledger>(),
                               .timeline = trace.empty() ? nullptr : std::make_shared<Timeline>()};
    const auto world = make_recorded(make_p2p(hub->join(outer.rank()), "threads"), recorder);
    TrainConfig config;
    config.steps = steps;
    config.strategy = strategy;
    config.global_batch_size = 32;
    config.parallel.buckets = {.first_bytes = 20000, .bytes = 40000};
    const TrainingData data = read_training_data(config, *world);
    TrainingRun run(config, data, *world);
    PhaseSpans spans(recorder.timeline, run.model());
    recorder.begin_phase(kPhaseSteps);
    run.train_until(steps, spans);
    recorder.begin_phase(kPhaseEnd);
    const auto found = gather_communication(recorder, steps, *world);
    write_trace(trace, recorder, *world);
    if (world->rank() == 0) {
      report = *found;
    }
  });
  return report;
}

std::map<Operation, int64_t> payload_of_steps(const CommunicationReport& report, bool control) {
  std::map<Operation, int64_t> payload;
  for (const CommunicationRow& row : report.rows) {
    if (row.most.phase == kPhaseSteps && row.most.control == control) {
      payload[row.most.operation] += row.most.payload();
    }
  }
  return payload;
}

}  // namespace

TEST_CASE("a step of DDP or ZeRO-1 pays 2(N-1)/N of the gradient's bytes, whatever else it says is control",
          "[communication]") {
  for (const int N : {1, 2, 3, 4, 8}) {
    INFO(N << " ranks");
    const int64_t steps = 3, T = 4 * ((29824 + N - 1) / N * N);
    const CommunicationReport ddp = books_of("ddp", N, steps), zero1 = books_of("zero1", N, steps);
    CHECK(payload_of_steps(ddp, false) == std::map<Operation, int64_t>{{Operation::AllReduce, steps * 2 * (N - 1) * T / N}});
    CHECK(payload_of_steps(zero1, false) == std::map<Operation, int64_t>{{Operation::ReduceScatter, steps * (N - 1) * T / N},
                                                                         {Operation::AllGather, steps * (N - 1) * T / N}});
    for (const CommunicationReport& report : {ddp, zero1}) {  // 26 doubles, two hashes of 16 bytes in all
      CHECK(payload_of_steps(report, true) ==
            std::map<Operation, int64_t>{{Operation::AllReduce, 2 * (N - 1) * steps * (26 * 8 + 16) / N}});
    }
  }
}

TEST_CASE("ZeRO-2 pays as much; FSDP a second gather in every micro-batch, of all but the last two layers", "[communication]") {
  const auto padded = [](std::initializer_list<int64_t> units, int shards) {
    int64_t bytes = 0;
    for (const int64_t numel : units) {
      bytes += 4 * ((numel + shards - 1) / shards * shards);
    }
    return bytes;
  };
  const auto whole = [&](int shards) { return padded({2560, 12576, 12576, 2112}, shards); };  // embeddings, two blocks, head
  const auto gathered = [&](int shards) { return whole(shards) + padded({2560, 12576}, shards); };
  using Payload = std::map<Operation, int64_t>;
  for (const int N : {2, 3, 4, 8}) {
    INFO(N << " ranks");
    const int64_t steps = 3, T = whole(N), micro_batches = (8 + N - 1) / N;
    CHECK(payload_of_steps(books_of("zero2", N, steps), false) ==
          Payload{{Operation::ReduceScatter, steps * (N - 1) * T / N}, {Operation::AllGather, steps * (N - 1) * T / N}});
    CHECK(payload_of_steps(books_of("fsdp", N, steps), false) ==
          Payload{{Operation::ReduceScatter, steps * (N - 1) * T / N},
                  {Operation::AllGather, steps * micro_batches * (N - 1) * gathered(N) / N}});
  }
  // Two replicas of a copy that four ranks share, four pairs of ranks with the same shard: a row for each group.
  const int64_t T = whole(4);
  CHECK(payload_of_steps(books_of("hsdp", 8, 1), false) == Payload{{Operation::ReduceScatter, 2 * 3 * T / 4},
                                                                   {Operation::AllGather, 2 * 3 * gathered(4) / 4},
                                                                   {Operation::AllReduce, 4 * T / 4}});
}

TEST_CASE("the report says per step what it says in all, as lines and as JSON", "[communication]") {
  const CommunicationReport report = books_of("zero1", 4, 2);
  const Json json = Json::parse(report.json());
  REQUIRE(json.is_array());
  int found = 0;
  for (const Json& row : json) {
    CHECK(row.size() == 13);
    CHECK(row["seconds_max"] >= row["seconds_mean"]);
    if (row["phase"] == "steps" && row["operation"] == "all_gather") {
      ++found;
      CHECK(row["control"] == false);
      CHECK(row["calls"] == 2);
      CHECK(row["payload_bytes"] == 2 * 89472);
      CHECK(row["payload_bytes_per_step"] == 89472);
      CHECK(row["moved_bytes"] == 2 * 89472);
      CHECK(row["messages"] == 4);  // log2 P a call
    }
  }
  CHECK(found == 1);
  std::string lines;
  for (const std::string& line : report.lines()) {
    lines += line + "\n";
  }
  CHECK_THAT(lines,
             Catch::Contains("payload steps  world      all_gather             2         178944        89472          4"));
  CHECK_THAT(lines, Catch::Contains("control steps  world      all_reduce"));
}

TEST_CASE("the trace has a compute and a communication row per rank, whose spans lie inside each other or apart",
          "[communication]") {
  const test::ScratchFolder folder;
  books_of("ddp", 2, 2, folder.path("trace"));
  const Json events = Json::parse(folder.read("trace"))["traceEvents"];
  std::map<std::pair<int, int>, std::map<std::string, int>> names;  // by rank and row
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> spans;
  std::map<std::pair<int, int>, std::string> titles;
  for (const Json& event : events) {
    const std::pair<int, int> row(event["pid"], event["tid"]);
    if (event["ph"] == "X") {
      ++names[row][event["name"]];
      spans[row].emplace_back(event["ts"], event["ts"].get<double>() + event["dur"].get<double>());
    } else if (event["name"] == "thread_name") {
      titles[row] = event["args"]["name"];
    }
  }
  for (const int rank : {0, 1}) {
    INFO("rank " << rank);
    CHECK(titles[{rank, 0}] == "compute");
    CHECK(titles[{rank, 1}] == "communication");
    const auto& compute = names[{rank, 0}];
    CHECK(compute ==
          std::map<std::string, int>{{"backward", 8}, {"forward", 8}, {"reduce and update", 2}, {"step 1", 1}, {"step 2", 1}});
    CHECK(names[{rank, 1}]["all_reduce"] > 0);
  }
  for (auto& [row, all] : spans) {
    std::sort(all.begin(), all.end(),
              [](auto& a, auto& b) { return a.first < b.first || (a.first == b.first && a.second > b.second); });
    std::vector<double> open;
    for (const auto& [begin, end] : all) {
      while (!open.empty() && open.back() <= begin + 2e-3) {  // times are rounded to nanoseconds
        open.pop_back();
      }
      CHECK((open.empty() || end <= open.back() + 2e-3));
      open.push_back(end);
    }
  }
}

TEST_CASE("collectives that overlap each other stand in rows below each other", "[communication]") {
  Timeline timeline;
  for (const auto& [begin, end] : {std::pair{0, 10}, std::pair{5, 15}, std::pair{12, 20}}) {
    timeline.add({.row = Span::Row::Communication, .name = "all_reduce", .begin_ns = begin, .end_ns = end});
  }
  std::vector<int> rows;
  for (const Json& event : Json::parse("[" + trace_events(timeline, 0, 0) + "]")) {
    if (event["ph"] == "X") {
      rows.push_back(event["tid"]);
    }
  }
  CHECK(rows == std::vector<int>{1, 2, 1});
}

TEST_CASE("the calls of every rank that can be read become files, a dead one's by who lives", "[communication]") {
  const test::ScratchFolder folder;
  const std::shared_ptr<std::byte> memory(
      static_cast<std::byte*>(::operator new(3 * CallHistory::bytes(), std::align_val_t(64))),
      [](std::byte* block) { ::operator delete(block, std::align_val_t(64)); });
  std::memset(memory.get(), 0, 3 * CallHistory::bytes());
  std::vector<float> data(7);
  for (const int rank : {0, 2}) {  // rank 1 never began
    CallHistory history(memory, 3, rank);
    history.end(history.begin({.operation = Operation::AllReduce, .in = data, .out = data, .sequence = 1}, "world"),
                CallRecord::State::Done);
    history.begin({.operation = Operation::Broadcast, .in = data, .out = data, .peer = 2, .sequence = 2}, "world");
  }
  const CallHistory reader(memory, 3, 1);
  CHECK(write_call_histories(reader, folder.path("deep/er")) == "the last calls of the ranks are in " + folder.path("deep/er"));
  const Json theirs = Json::parse(folder.read("deep/er/calls_rank_00002.json"));
  CHECK(theirs["rank"] == 2);
  CHECK(theirs["written_by"] == 1);
  CHECK(theirs["state"] == "alive");
  REQUIRE(theirs["calls"].size() == 2);
  const Json& first = theirs["calls"][0];
  CHECK(first["operation"] == "all_reduce");
  CHECK(first["count"] == 7);
  CHECK(first["dtype"] == "f32");
  CHECK(first["op"] == "sum");
  CHECK(first["peer"].is_null());
  CHECK(first["state"] == "done");
  CHECK(first["site"] == "");
  CHECK(theirs["calls"][1]["state"] == "running");
  CHECK(theirs["calls"][1]["peer"] == 2);
  CHECK(theirs["calls"][1]["duration_us"].is_null());
  CHECK(Json::parse(folder.read("deep/er/calls_rank_00000.json"))["calls"].size() == 2);
  CHECK(Json::parse(folder.read("deep/er/calls_rank_00001.json"))["calls"].empty());
  CHECK_THAT(write_call_histories(reader, folder.write("file", "") + "/x"), Catch::Contains("could not be written"));
}

TEST_CASE("who waits too long for the start is told, and who starts in time is not", "[communication]") {
  std::atomic<int> late = 0;
  {
    const StartWatch watch(std::chrono::seconds(20), [&] { ++late; });
  }
  CHECK(late == 0);
  {
    const StartWatch watch(std::chrono::milliseconds(1), [&] { ++late; });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  CHECK(late == 1);
}
