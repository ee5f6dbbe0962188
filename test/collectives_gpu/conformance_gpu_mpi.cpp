// Device memory of ranks that are processes:
//   nccl      over NCCL, a GPU for each rank
//   staged    through host memory, all ranks on one GPU
//   refused   what NCCL says to more ranks than GPUs
//   dies      rank 1, after its call, while the GPUs of the others wait for it: they say so
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "collectives/backends/mpi.h"
#include "collectives/factory.h"
#include "tensor/base/gpu.h"
#include "test/collectives_gpu/device_array.h"
#include "test/collectives_gpu/on_device.h"
#include "test/conformance/conformance.h"

namespace ringlet::test {
namespace {

Report refused() {
  Report report;
  report.about("more ranks than GPUs");
  report.expect_error<BackendUnavailable>(
      "nccl: rank 0: needs a GPU for each rank of a host, got 2 ranks and 1 GPU; take --backend "
      "mpi --device cuda",
      [] { make_world("nccl"); });
  return report;
}

[[noreturn]] void die() {
  setenv("RINGLET_EMULATED_NCCL_FAIL", "ncclAllReduce:1:1:lose", 1);
  const std::unique_ptr<Communicator> world = make_world("nccl");
  const DeviceArray<int32_t> data(std::vector<int32_t>(1000, 1), world->rank());
  world->all_reduce(data.buffer(), ReduceOp::Sum);
  if (world->rank() == 1) {
    raise(SIGKILL);
  }
  try {
    gpu().synchronize();
  } catch (const CommError& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  abort_world(1);
}

Report conformance(std::string_view how) {
  const int device = how == "nccl" ? place_on_host().rank : 0;
  gpu().use(device);
  std::unique_ptr<Communicator> world = how == "nccl" ? make_world("nccl") : make_world("mpi", {.device = Device::Kind::Cuda});
  return run_conformance(*make_on_device(std::move(world), gpu(), device));
}

int run(std::string_view how) {
  if (how == "dies") {
    die();
  }
  const Report report = how == "refused" ? refused() : conformance(how);
  for (const std::string& failure : report.failures()) {
    std::fprintf(stderr, "%s\n", failure.c_str());
  }
  const std::unique_ptr<Communicator> world = make_world("mpi");
  auto failures = static_cast<int64_t>(report.failures().size());
  world->all_reduce(std::span(&failures, 1), ReduceOp::Sum);
  if (world->rank() == 0) {
    std::printf("%d ranks, %d checks each, %d failures\n", world->size(), report.checks(), static_cast<int>(failures));
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ringlet::test

int main(int count, char** arguments) {
  const ringlet::MpiSession session;
  return ringlet::test::run(count > 1 ? arguments[1] : "nccl");
}
