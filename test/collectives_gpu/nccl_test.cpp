// What NCCL is asked for, and what happens when ranks disagree, when NCCL fails, and when it says nothing.
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "collectives/backends/nccl.h"
#include "collectives/backends/nccl_collectives.h"
#include "collectives/backends/staged.h"
#include "test/collectives_gpu/device_array.h"
#include "test/support/catch.h"
#include "test/support/run_gpu_ranks.h"
#include "test/support/serial_reference.h"

using namespace ringlet;        // NOLINT(google-build-using-namespace)
using namespace ringlet::test;  // NOLINT(google-build-using-namespace)

namespace {

using World = std::unique_ptr<Communicator>;
using Values = std::vector<float>;

World nccl(World host, NcclOptions options = {.deadline = std::chrono::seconds(20)}) {
  const int rank = host->rank();
  return make_nccl(std::move(host), nccl_library(), gpu(), rank, options);
}

// Runs body on `ranks` ranks, of which some may fail; what each says, "" where it does not.
template <typename Body>
std::vector<std::string> what_ranks_say(int ranks, Body body) {
  std::vector<std::string> said(static_cast<size_t>(ranks));
  try {
    run_gpu_ranks(ranks, [&](World host) {
      const auto rank = static_cast<size_t>(host->rank());
      try {
        body(std::move(host));
      } catch (const std::exception& error) {
        said[rank] = error.what();
        throw;
      }
    });
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it is in what was said
  }
  return said;
}

// NCCL fails as `fault` says while it lives.
struct PlannedFault {
  explicit PlannedFault(const char* fault) { setenv("RINGLET_EMULATED_NCCL_FAIL", fault, 1); }
  ~PlannedFault() { unsetenv("RINGLET_EMULATED_NCCL_FAIL"); }
};

void require_all_contain(const std::vector<std::string>& said, const std::string& part) {
  for (const std::string& one : said) {
    CHECK_THAT(one, Catch::Contains(part));
  }
}

}  // namespace

TEST_CASE("what NCCL adds itself is what has one order", "[nccl]") {
  const auto adds = [](ReduceOp op, DType dtype, int ranks, ReductionOrder order) {
    return nccl_adds(op, dtype, ranks, order);
  };
  const auto canonical = ReductionOrder::Canonical, any = ReductionOrder::Any;
  CHECK(adds(ReduceOp::Sum, DType::I32, 8, canonical));
  CHECK(adds(ReduceOp::Min, DType::I64, 8, canonical));
  CHECK(adds(ReduceOp::Sum, DType::BF16, 2, canonical));
  CHECK_FALSE(adds(ReduceOp::Sum, DType::F32, 3, canonical));
  CHECK_FALSE(adds(ReduceOp::Avg, DType::F32, 2, canonical));
  CHECK(adds(ReduceOp::Avg, DType::F32, 8, any));
  CHECK_FALSE(adds(ReduceOp::Max, DType::F32, 8, any));
}

// The sums of any order are as near to the exact one as those of order T: (P − 1)·eps·Σ|x| at most.
TEST_CASE("any order gives NCCL's own sums", "[nccl]") {
  constexpr int kRanks = 4;
  constexpr int64_t kMany = 20000;
  std::vector<Values> sums(kRanks), means(kRanks);
  run_gpu_ranks(kRanks, [&](World host) {
    const World world = nccl(std::move(host), {.order = ReductionOrder::Any});
    const int rank = world->rank();
    const DeviceArray<float> sum(input_of<float>(rank, kMany), rank), mean(input_of<float>(rank, kMany), rank);
    world->all_reduce(sum.buffer(), ReduceOp::Sum);
    world->start_all_reduce(mean.buffer(), ReduceOp::Avg).wait();
    sums[static_cast<size_t>(rank)] = sum.values();
    means[static_cast<size_t>(rank)] = mean.values();
  });
  int64_t other_bits = 0;
  for (int64_t i = 0; i < kMany; ++i) {
    const auto at = static_cast<size_t>(i);
    double exact = 0, magnitude = 0;
    for (int r = 0; r < kRanks; ++r) {
      exact += static_cast<double>(input_value<float>(r, i));
      magnitude += std::abs(static_cast<double>(input_value<float>(r, i)));
    }
    const double bound = (kRanks - 1) * 0x1p-23 * magnitude;
    REQUIRE(std::abs(static_cast<double>(sums[0][at]) - exact) <= bound);
    REQUIRE(std::abs(static_cast<double>(means[0][at]) - exact / kRanks) <= bound);
    other_bits += same_bits(sums[0][at], reduced_value<float>(ReduceOp::Sum, kRanks, i)) ? 0 : 1;
  }
  CHECK(other_bits > kMany / 10);  // or the canonical order would be tested by nothing
  CHECK(sums[0] == sums[3]);
}

TEST_CASE("one rank with device memory and one with host memory are told so", "[nccl]") {
  for (const bool with_nccl : {true, false}) {
    const std::vector<std::string> said = what_ranks_say(3, [&](World host) {
      const World world = with_nccl ? nccl(std::move(host)) : make_staged(std::move(host), gpu());
      Values values(4, 1);
      const DeviceArray<float> data(values, world->rank());
      world->all_reduce(world->rank() == 1 ? Buffer(values) : data.buffer(), ReduceOp::Sum);
    });
    require_all_contain(said, "rank 1 differs in device");
  }
}

TEST_CASE("memory of another GPU is refused", "[nccl]") {
  const std::vector<std::string> said = what_ranks_say(2, [&](World host) {
    const World world = nccl(std::move(host));
    const DeviceArray<float> data(Values(4), 1 - world->rank());
    world->all_reduce(data.buffer(), ReduceOp::Sum);
  });
  CHECK_THAT(said[0], Catch::Contains("all_reduce: this rank's buffers are on cuda:0, got cuda:1"));
}

TEST_CASE("parts of all_to_all_v that do not fit are told before anything moves", "[nccl]") {
  const std::vector<std::string> said = what_ranks_say(2, [&](World host) {
    const World world = nccl(std::move(host));
    const int rank = world->rank();
    const std::vector<int64_t> to{1, 2}, from = rank == 0 ? std::vector<int64_t>{1, 1} : std::vector<int64_t>{3, 2};
    const DeviceArray<float> in(Values(3), rank), out(Values(rank == 0 ? 2 : 5), rank);
    world->all_to_all_v(in.buffer(), to, out.buffer(), from);
  });
  require_all_contain(said, "got 2 elements from rank 0 where rank 1 expects 3");
}

TEST_CASE("a call that NCCL refuses is an error on all ranks", "[nccl]") {
  const PlannedFault fault("ncclAllReduce:2:1:refuse");
  const std::vector<std::string> said = what_ranks_say(2, [&](World host) {
    const World world = nccl(std::move(host));
    for (int i = 0; i < 3; ++i) {
      const DeviceArray<float> data(Values(4, 1), world->rank());
      world->all_reduce(data.buffer(), ReduceOp::Sum);
    }
  });
  CHECK_THAT(said[1], Catch::Contains("all_reduce #3 on rank 1 of 2 (world): ncclAllReduce: unhandled system error"));
  // in words that depend on where it is just then
  CHECK_THAT(said[0], Catch::Contains(" on rank 0 of 2 (world), peer 1: ") && Catch::Contains("has left, by an exception"));
}

TEST_CASE("a call that never ends is an error at the deadline", "[nccl]") {
  const PlannedFault fault("ncclAllReduce:1:1:lose");
  const std::vector<std::string> said = what_ranks_say(2, [&](World host) {
    const World world = nccl(std::move(host), {.deadline = std::chrono::milliseconds(200)});
    const DeviceArray<float> data(Values(4, 1), world->rank());
    world->all_reduce(data.buffer(), ReduceOp::Sum);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    int64_t vote = 1;  // also host memory: what the device holds is not what it should be
    world->all_reduce(std::span(&vote, 1), ReduceOp::Sum);
  });
  CHECK_THAT(said[0] + said[1], Catch::Contains("no end within the deadline of 0.2 s, and all_reduce #2 is under way"));
}

TEST_CASE("what NCCL notices by itself is an error at the next call", "[nccl]") {
  const PlannedFault fault("ncclAllReduce:1:1:remote");
  const std::vector<std::string> said = what_ranks_say(2, [&](World host) {
    const World world = nccl(std::move(host));
    const DeviceArray<float> data(Values(4, 1), world->rank());
    Work work = world->start_all_reduce(data.buffer(), ReduceOp::Sum);
    world->rank() == 1 ? work.wait() : world->barrier();
  });
  CHECK_THAT(said[1], Catch::Contains("all_reduce #2 on rank 1 of 2 (world): ncclAllReduce: remote process exited"));
}

// Whoever waits for its GPU looks after its peers meanwhile.
TEST_CASE("a peer that fails while a GPU is waited for is named", "[nccl]") {
  const PlannedFault fault("ncclAllReduce:1:1:lose");
  const std::vector<std::string> said = what_ranks_say(2, [&](World host) {
    const World world = nccl(std::move(host));
    const DeviceArray<float> data(Values(4, 1), world->rank());
    world->all_reduce(data.buffer(), ReduceOp::Sum);
    check(world->rank() == 0, "rank 1 has something else to say");
    for (int look = 0; look < 20000; ++look) {
      world->look_after_peers();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  CHECK_THAT(said[0], Catch::Contains("all_reduce #2 on rank 0 of 2 (world), peer 1: rank 1 has left because of an exception"));
}

TEST_CASE("two ranks on one GPU are refused by NCCL itself", "[nccl]") {
  const std::vector<std::string> said = what_ranks_say(2, [&](World host) {
    gpu().use(0);
    make_nccl(std::move(host), nccl_library(), gpu(), 0);
  });
  require_all_contain(said, "Duplicate GPU detected");
}

TEST_CASE("memory for sums is counted, and given back", "[nccl]") {
  run_gpu_ranks(3, [&](World host) {
    const Device device{Device::Kind::Cuda, host->rank()};
    const auto memory = std::make_shared<Allocator>(gpu().memory(device.index));
    const AllocatorScope scope(memory);
    {
      const World world = nccl(std::move(host));
      const DeviceArray<float> data(Values(99999, 1), device.index);
      const int64_t before = memory->ledger().of(Category::Communication).live;
      world->all_reduce(data.buffer(), ReduceOp::Sum);
      const int64_t inbox = memory->ledger().of(Category::Communication).live - before;
      check(inbox >= 99999 * 4 && inbox < 2 * 99999 * 4, "inbox: P pieces of N/P, got {} bytes", inbox);
      world->all_reduce(data.buffer(), ReduceOp::Sum);
      check(memory->ledger().of(Category::Communication).live - before == inbox, "inbox: is kept");
    }
    check(memory->ledger().of(Category::Communication).live == 0, "inbox: is given back");
  });
}
