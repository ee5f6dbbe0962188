#include "collectives/nccl/nccl_errors.h"

#include <cuda_runtime.h>
#include <nccl.h>

#include <string>

#include "collectives/nccl/nccl_group.h"

namespace ringlet {

void check_cuda(int code, const char* who) {
  if (code != cudaSuccess) {
    throw NcclFault(std::string(who) + ": " + cudaGetErrorString(static_cast<cudaError_t>(code)));
  }
}

void check_nccl(int code, const char* who) {
  if (code == ncclSuccess) {
    return;
  }
  const char* more = ncclGetLastError(nullptr);
  throw NcclFault(std::string(who) + ": " + ncclGetErrorString(static_cast<ncclResult_t>(code)) +
                  (more == nullptr || *more == '\0' ? "" : std::string("; ") + more));
}

}  // namespace ringlet
