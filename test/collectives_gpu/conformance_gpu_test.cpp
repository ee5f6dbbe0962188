// The conformance body on device memory: copied to the host, and over NCCL; ranks are threads, each on an emulated GPU.
#include "collectives/backends/nccl.h"
#include "collectives/backends/staged.h"
#include "test/collectives_gpu/on_device.h"
#include "test/conformance/conformance.h"
#include "test/support/catch.h"
#include "test/support/full.h"
#include "test/support/run_gpu_ranks.h"

using namespace ringlet;        // NOLINT(google-build-using-namespace)
using namespace ringlet::test;  // NOLINT(google-build-using-namespace)

namespace {

using Make = std::unique_ptr<Communicator> (*)(std::unique_ptr<Communicator> host, int device);

std::unique_ptr<Communicator> staged(std::unique_ptr<Communicator> host, int /*device*/) {
  return make_staged(std::move(host), gpu());
}
std::unique_ptr<Communicator> nccl(std::unique_ptr<Communicator> host, int device) {
  return make_nccl(std::move(host), nccl_library(), gpu(), device, {.deadline = std::chrono::seconds(20)});
}

const std::vector<int> kRanks = kFull ? std::vector{1, 2, 3, 4, 5, 8} : std::vector{1, 2, 3, 4};

void require_conformance(Make make, int ranks) {
  INFO(ranks << " ranks");
  std::vector<Report> reports(static_cast<size_t>(ranks));
  run_gpu_ranks(ranks, [&](std::unique_ptr<Communicator> host) {
    const int rank = host->rank();
    const std::unique_ptr<Communicator> world = make_on_device(make(std::move(host), rank), gpu(), rank);
    reports[static_cast<size_t>(rank)] = run_conformance(*world);
  });
  for (const Report& report : reports) {
    for (const std::string& failure : report.failures()) {
      UNSCOPED_INFO(failure);
    }
    CHECK(report.failures().empty());
    CHECK(report.checks() > 0);
  }
}

}  // namespace

TEST_CASE("device memory copied to the host conforms", "[conformance]") {
  for (const int ranks : kRanks) {
    require_conformance(staged, ranks);
  }
}
TEST_CASE("NCCL conforms", "[conformance]") {
  for (const int ranks : kRanks) {
    require_conformance(nccl, ranks);
  }
}
