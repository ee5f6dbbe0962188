// The conformance body on one rank and on ranks as threads. Over MPI: test/collectives_mpi.
#include <mutex>

#include "collectives/backends/local.h"
#include "test/conformance/conformance.h"
#include "test/support/catch.h"
#include "test/support/run_asynchronous.h"
#include "test/support/run_ranks.h"
#include "test/support/run_shared.h"

using namespace ringlet;        // NOLINT(google-build-using-namespace)
using namespace ringlet::test;  // NOLINT(google-build-using-namespace)

namespace {

void require_clean(const Report& report) {
  for (const std::string& failure : report.failures()) {
    UNSCOPED_INFO(failure);
  }
  CHECK(report.failures().empty());
  CHECK(report.checks() > 0);
}

}  // namespace

TEST_CASE("the local backend conforms", "[conformance]") {
  const AllocatorScope scope(std::make_shared<Allocator>());
  require_clean(run_conformance(*make_local()));
}

namespace {

using Runner = void (*)(int, const std::function<void(Communicator&)>&, std::chrono::milliseconds);

void require_conformance(Runner run, const std::vector<int>& counts) {
  for (const int ranks : counts) {
    INFO(ranks << " ranks");
    std::vector<Report> reports(static_cast<size_t>(ranks));
    run(
        ranks, [&](Communicator& world) { reports[static_cast<size_t>(world.rank())] = run_conformance(world); },
        std::chrono::seconds(20));
    for (const Report& report : reports) {
      require_clean(report);
    }
  }
}

}  // namespace

TEST_CASE("ranks as threads conform", "[conformance]") { require_conformance(run_ranks, {1, 2, 3, 4, 5, 6, 7, 8}); }
TEST_CASE("ranks as threads conform over shared memory", "[conformance]") { require_conformance(run_shared, {1, 2, 3, 5, 8}); }
TEST_CASE("ranks as threads conform over shared memory with a core for each", "[conformance]") {
  require_conformance(run_shared_apart, {2, 3, 4});
}
TEST_CASE("ranks that read from each other's memory conform", "[conformance]") {
  require_conformance(run_reading, {1, 2, 3, 5, 8});
}
TEST_CASE("ranks with a communication thread conform", "[conformance]") { require_conformance(run_asynchronous, {1, 2, 4}); }

#if defined(RINGLET_FULL)
// More elements, and bytes, than an int counts; 4.3 GB.
TEST_CASE("more than 2^31 elements are as right as few [H1]", "[conformance]") {
  constexpr int64_t kMany = (int64_t{1} << 31) + 5;
  for (const Runner run : {Runner(run_ranks), Runner(run_shared)}) {
    std::vector<Report> reports(2);
    const auto body = [&](Communicator& world) {
      Report& report = reports[static_cast<size_t>(world.rank())];
      std::vector<uint8_t> data(kMany, static_cast<uint8_t>(world.rank() + 1));
      data.back() = static_cast<uint8_t>(100 + world.rank());
      world.all_reduce(data, ReduceOp::Sum);
      for (const size_t at : {size_t{0}, size_t{1} << 31, data.size() - 2}) {
        report.expect(data[at] == 3, "all_reduce, element {}: got {}", at, int{data[at]});
      }
      report.expect(data.back() == 201, "all_reduce, the last: got {}", int{data.back()});
      data.back() = static_cast<uint8_t>(world.rank());
      world.broadcast(data, 1);
      report.expect(data.back() == 1, "broadcast: got {}", int{data.back()});
      const std::vector<int64_t> counts{kMany - 2, 2};
      const std::span<uint8_t> mine = world.rank() == 0 ? std::span(data).first(kMany - 2) : std::span(data).last(2);
      std::fill(mine.begin(), mine.end(), static_cast<uint8_t>(7 + world.rank()));
      world.all_gather_v(mine, data, counts);
      report.expect(data[kMany - 3] == 7 && data.back() == 8, "all_gather_v: got {}", int{data.back()});
    };
    run(2, body, std::chrono::seconds(300));
    for (const Report& report : reports) {
      require_clean(report);
    }
  }
}
#endif
