// The conformance body on one rank and on ranks as threads. Over MPI: test/collectives_mpi.
#include <mutex>

#include "collectives/backends/local.h"
#include "test/collectives/conformance.h"
#include "test/support/catch.h"
#include "test/support/run_ranks.h"

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

TEST_CASE("ranks as threads conform", "[conformance]") {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    INFO(ranks << " ranks");
    std::vector<Report> reports(static_cast<size_t>(ranks));
    run_ranks(ranks, [&](Communicator& world) { reports[static_cast<size_t>(world.rank())] = run_conformance(world); });
    for (const Report& report : reports) {
      require_clean(report);
    }
  }
}
