// NCCL's functions around the operations, emulated.
#include <nccl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>

#include "test/emulated_gpu/nccl/communicator.h"

using namespace ringlet::emulated_gpu;  // NOLINT(google-build-using-namespace): the functions below have to be global

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::atomic<int> made{0};
  *id = {};
  std::snprintf(id->internal, sizeof(id->internal), "/ringlet_nccl_%d_%d_%llx", static_cast<int>(getpid()), ++made,
                static_cast<unsigned long long>(std::chrono::steady_clock::now().time_since_epoch().count()));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  const bool blocking = config == nullptr || config->blocking != 0;
  *comm = new ncclComm(id.internal, ranks, rank, blocking);
  return (*comm)->state();
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) { return comm->finalize(); }

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->abort();
  delete comm;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError: return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError: return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument: return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "NCCL operation in progress";
  }
  return "unknown result code";
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  *error = comm->state();
  return ncclSuccess;
}
ncclResult_t ncclCommCount(const ncclComm_t comm, int* ranks) {
  *ranks = comm->ranks();
  return ncclSuccess;
}
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  *rank = comm->rank();
  return ncclSuccess;
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type, ncclScalarResidence_t residence,
                                      ncclComm_t comm) {
  if (residence != ncclScalarHostImmediate) {
    return ncclInvalidArgument;
  }
  *op = comm->add_operator(value_of(scalar, type));
  return ncclSuccess;
}
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  comm->remove_operator(op);
  return ncclSuccess;
}

const char* ncclGetLastError(ncclComm_t /*comm*/) { return last_error_text(); }
