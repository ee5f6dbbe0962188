// libringlet_nccl.so: what programs find in it.
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstring>
#include <utility>

#include "collectives/nccl/join_group.h"
#include "collectives/nccl/nccl_errors.h"

namespace ringlet {
namespace {

class Library final : public NcclLibrary {
 public:
  std::string version() override {
    int code = 0;
    check_nccl(ncclGetVersion(&code), "ncclGetVersion");
    return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." + std::to_string(code % 100);
  }
  int device_count() override {
    int count = 0;
    check_cuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    return count;
  }
  NcclId new_id() override {
    NcclId id;
    ncclUniqueId unique;
    check_nccl(ncclGetUniqueId(&unique), "ncclGetUniqueId");
    std::memcpy(id.bytes.data(), &unique, sizeof(id));
    return id;
  }
  std::unique_ptr<NcclGroup> join(const NcclId& id, int rank, int size, int device, NcclWatch watch,
                                  const NcclGroup* whole) override {
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
    return join_group(id, rank, size, std::move(watch), whole);
  }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) NcclLibrary* ringlet_nccl_library(int interface) {
  static Library library;
  return interface == kNcclInterface ? &library : nullptr;
}

}  // namespace ringlet
