// The conformance body on one rank and on ranks as threads. Over MPI: test/collectives_mpi.
#include <mutex>

#include "collectives/backends/local.h"
#include "test/collectives/conformance.h"
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
TEST_CASE("ranks with a communication thread conform", "[conformance]") { require_conformance(run_asynchronous, {1, 2, 4}); }
