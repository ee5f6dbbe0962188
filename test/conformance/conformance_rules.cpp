// What is refused, what needs no data, what an algorithm holds: rules that are the same on every backend.
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/base/allocator.h"
#include "test/conformance/conformance.h"
#include "test/support/serial_reference.h"

namespace ringlet::test {
namespace {

// Every rank makes the same mistake, gets an Error before anything has moved, and goes on.
void mistakes_are_errors(Communicator& world, Report& report) {
  const int P = world.size(), r = world.rank();
  std::vector<float> a(static_cast<size_t>(4 * P)), b(static_cast<size_t>(4 * P));
  std::vector<double> wide(a.size());
  std::vector<int32_t> whole(a.size());
  const Buffer missing(nullptr, 3, DType::F32), negative(a.data(), -1, DType::F32);
  const Buffer elsewhere(a.data(), 4, DType::F32, {Device::Kind::Cuda, 0});

  report.expect_error<Error>("broadcast: root", [&] { world.broadcast(a, P); });
  report.expect_error<Error>("broadcast: root", [&] { world.broadcast(a, -1); });
  report.expect_error<Error>("reduce: root", [&] { world.reduce(a, b, ReduceOp::Sum, P); });
  report.expect_error<Error>("all_reduce: input is null", [&] { world.all_reduce(missing, ReduceOp::Sum); });
  report.expect_error<Error>("negative count, got -1", [&] { world.broadcast(negative, 0); });
  report.expect_error<Error>("differ in dtype, got f32 and f64", [&] { world.all_reduce(a, wide, ReduceOp::Sum); });
  report.expect_error<Error>("differ in count", [&] { world.all_reduce(a, std::span(b).first(1), ReduceOp::Sum); });
  report.expect_error<Error>("no avg of integers, got i32", [&] { world.all_reduce(whole, ReduceOp::Avg); });
  report.expect_error<Error>("no avg of integers",
                             [&] { world.reduce_scatter(whole, std::span(whole).first(4), ReduceOp::Avg); });
  report.expect_error<Error>("all_gather: the whole must hold", [&] { world.all_gather(std::span(a).first(3), b); });
  report.expect_error<Error>("reduce_scatter: the whole must hold",
                             [&] { world.reduce_scatter(a, std::span(b).first(3), ReduceOp::Sum); });
  report.expect_error<Error>("must be another rank", [&] { world.send(a, r); });
  report.expect_error<Error>("must be another rank", [&] { world.recv(a, P); });
  report.expect_error<Error>("no pre_mul_sum of integers, got i32; use sum and multiply",
                             [&] { world.all_reduce(whole, pre_mul_sum(2)); });
  report.expect_error<Error>("the factor must be finite", [&] { world.all_reduce(a, pre_mul_sum(HUGE_VALF)); });
  if (P > 1) {
    report.expect_error<Error>("tag", [&] { world.send(a, (r + 1) % P, -1); });
    report.expect_error<Error>("moves host memory, got cuda:0", [&] { world.broadcast(elsewhere, 0); });
  }
  world.all_reduce(a, ReduceOp::Sum);  // still in step
}

// In place is the same memory exactly; one element off is a mistake, in every operation with an input and an output.
void partial_overlap_is_refused(Communicator& world, Report& report) {
  const int P = world.size(), r = world.rank();
  std::vector<float> memory(static_cast<size_t>(8 * P + 16));
  const std::span<float> all(memory);
  const auto n = static_cast<size_t>(4 * P);
  const size_t own = static_cast<size_t>(4 * r);
  const char* rule = "overlap without being in place";
  report.expect_error<Error>(rule, [&] { world.all_reduce(all.first(n), all.subspan(1, n), ReduceOp::Sum); });
  report.expect_error<Error>(rule, [&] { world.all_reduce(all.subspan(n - 1, n), all.first(n), ReduceOp::Sum); });
  report.expect_error<Error>(rule, [&] { world.all_gather(all.subspan(own + 1, 4), all.first(n)); });
  report.expect_error<Error>(rule, [&] { world.reduce_scatter(all.first(n), all.subspan(own + 1, 4), ReduceOp::Sum); });
  report.expect_error<Error>(rule, [&] { world.reduce_scatter(all.first(n), all.subspan(n - 1, 4), ReduceOp::Sum); });
  world.all_reduce(all.first(n), all.subspan(n, n), ReduceOp::Sum);  // neighbours do not overlap

  for (const int64_t count : {1, 5, 100003}) {  // the values of the report
    std::vector<float> same(static_cast<size_t>(count), static_cast<float>(r + 1));
    world.all_reduce(same, same, ReduceOp::Sum);
    const float right = static_cast<float>(P * (P + 1)) / 2;
    report.expect(same.front() == right && same.back() == right, "in == out, {} elements: got {}", count, same.back());
  }
}

void zero_elements_are_a_no_op(Communicator& world, Report& report) {
  const Buffer none(nullptr, 0, DType::F32);
  world.broadcast(none, 0);
  world.reduce(none, none, ReduceOp::Sum, 0);
  world.all_reduce(none, ReduceOp::Avg);
  world.all_gather(none, none);
  world.reduce_scatter(none, none, ReduceOp::Max);
  world.start_all_reduce(none, ReduceOp::Sum).wait();
  report.expect(true, "");
  // A shard may be empty on some ranks only inside an algorithm: three elements on any number of ranks.
  std::vector<float> three{1, 2, 3};
  world.all_reduce(three, ReduceOp::Sum);
  report.expect(three[2] == 3.0F * static_cast<float>(world.size()), "numel < ranks: got {}", three[2]);
}

void one_rank_is_the_identity(Communicator& world, Report& report) {
  const std::unique_ptr<Communicator> alone = world.split(world.rank(), 0);
  report.expect(alone->size() == 1, "size");
  const std::vector<float> in{1.5F, -0.0F, std::numeric_limits<float>::infinity()};
  for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Avg, ReduceOp::Min, ReduceOp::Max, ReduceOp::Prod}) {
    for (const int verb : {0, 1, 2, 3}) {
      std::vector<float> out(3), same = in;
      switch (verb) {
        case 0: alone->all_reduce(in, out, op), alone->all_reduce(same, op); break;
        case 1: alone->reduce_scatter(in, out, op), alone->reduce_scatter(same, same, op); break;
        case 2: alone->reduce(in, out, op, 0), alone->reduce(same, same, op, 0); break;
        default: alone->all_gather(in, out), alone->all_gather(same, same), alone->broadcast(same, 0), alone->barrier(); break;
      }
      for (size_t i = 0; i < in.size(); ++i) {
        report.expect(same_bits(out[i], in[i]) && same_bits(same[i], in[i]), "verb {}, {}: element {}", verb, op, i);
      }
    }
  }
}

void started_work_ends_as_blocking_calls_do(Communicator& world, Report& report) {
  const int P = world.size(), r = world.rank();
  const std::vector<float> in = input_of<float>(r, 60 * P);
  std::vector<float> sum(in.size()), shard(60), full(in.size()), rooted(in.size()), data = in;
  std::vector<Work> works;
  works.push_back(world.start_all_reduce(in, sum, ReduceOp::Sum));
  works.push_back(world.start_reduce_scatter(in, shard, ReduceOp::Sum));
  works.push_back(world.start_reduce(in, rooted, ReduceOp::Sum, 0));
  works.push_back(world.start_broadcast(data, P - 1));
  for (Work& work : works) {
    work.wait();
  }
  world.start_all_gather(shard, full).wait();
  for (int64_t i = 0; i < 60 * P; ++i) {
    const auto at = static_cast<size_t>(i);
    const float right = reduced_value<float>(ReduceOp::Sum, P, i);
    report.expect(same_bits(sum[at], right) && same_bits(full[at], right), "reductions, element {}", i);
    report.expect(r != 0 || same_bits(rooted[at], right), "reduce, element {}", i);
    report.expect(same_bits(data[at], input_value<float>(P - 1, i)), "broadcast, element {}", i);
  }
}

// Memory is counted as Communication while a call lasts, and warm for the next one.
void memory_is_reused(Communicator& world, Report& report) {
  std::vector<float> data(30000), shard(30000 / static_cast<size_t>(world.size()));
  const auto step = [&] {
    world.all_reduce(data, ReduceOp::Avg);
    world.reduce_scatter(std::span(data).first(shard.size() * static_cast<size_t>(world.size())), shard, ReduceOp::Sum);
    world.all_reduce(std::span(data).first(1), ReduceOp::Sum);
  };
  const std::shared_ptr<Allocator> memory = Allocator::current();
  const int64_t kept = memory->ledger().of(Category::Communication).live;  // by the communicator, for its whole life
  step();
  const MemoryLedger warm = memory->ledger();
  for (int i = 0; i < 10; ++i) {
    step();
  }
  const MemoryLedger later = memory->ledger();
  report.expect(later.arena_requests == warm.arena_requests, "{} requests after warm-up",
                later.arena_requests - warm.arena_requests);
  report.expect(later.of(Category::Communication).live == kept, "{} bytes held between calls",
                later.of(Category::Communication).live);
  const bool needs_none = world.size() == 1 || world.transport() == "shm";
  report.expect(needs_none || later.of(Category::Communication).peak > 0, "scratch memory is not counted");
}

void sequence_numbers_count_collectives(Communicator& world, Report& report) {
  const uint64_t before = world.sequence();
  std::vector<float> data(3);
  world.broadcast(data, 0);
  world.barrier();
  world.all_reduce(std::span(data).first(0), ReduceOp::Sum);
  report.expect(world.sequence() == before + 3, "got {} after {}", world.sequence(), before);
}

}  // namespace

const std::vector<ConformanceCase>& rule_cases() {
  static const std::vector<ConformanceCase> cases{
      {"mistakes are errors before anything moves", mistakes_are_errors},
      {"in == out is in place, a partial overlap is refused [H3]", partial_overlap_is_refused},
      {"zero elements are a no-op [G1]", zero_elements_are_a_no_op},
      {"one rank is the identity [H11]", one_rank_is_the_identity},
      {"started work ends as blocking calls do", started_work_ends_as_blocking_calls_do},
      {"scratch memory is counted and reused", memory_is_reused},
      {"sequence numbers count collectives", sequence_numbers_count_collectives},
  };
  return cases;
}

}  // namespace ringlet::test
