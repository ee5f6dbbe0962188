// An emulated communicator of NCCL as its rank holds it. One thread at a time.
#pragma once

#include <nccl.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "test/emulated_gpu/nccl/arithmetic.h"
#include "test/emulated_gpu/nccl/core.h"

namespace ringlet::emulated_gpu {

/// What goes wrong on purpose, from the environment variable RINGLET_EMULATED_NCCL_FAIL=CALL:n:rank:how, read when a communicator
/// is made: the n-th call (from 1) of that name on that rank
///   refuse   fails with ncclSystemError
///   lose     is queued and never ends, as when a wire is cut; nobody is told
///   remote   the same, and ncclCommGetAsyncError says ncclRemoteError
struct PlannedFault {
  std::string call{};
  int n = 0;
  int rank = -1;
  std::string how{};
  static PlannedFault from_environment();
};

}  // namespace ringlet::emulated_gpu

struct ncclComm {
 public:
  /// Returns at once where `blocking` is false; so does everything else, then.
  ncclComm(const std::string& name, int ranks, int rank, bool blocking);
  ~ncclComm();
  ncclComm(const ncclComm&) = delete;
  ncclComm& operator=(const ncclComm&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  bool blocking() const { return blocking_; }
  ncclResult_t state() const { return state_.load(); }
  /// Puts `body` on the stream: from another thread, a moment later, where it does not block, and is in progress until then. Asking for
  /// more meanwhile is ncclInvalidUsage.
  ncclResult_t queue(const char* call, ringlet::emulated_gpu::Body body, cudaStream_t stream);
  ncclResult_t finalize();
  void abort();

  ringlet::emulated_gpu::Operator operator_of(ncclRedOp_t op) const;
  ncclRedOp_t add_operator(double factor);
  void remove_operator(ncclRedOp_t op) { operators_.erase(op); }

 private:
  ncclResult_t later(std::function<ncclResult_t()> work);
  ncclResult_t meet(const std::string& name, int device);
  bool is_planned(const char* call);

  int ranks_;
  int rank_;
  bool blocking_;
  std::shared_ptr<ringlet::emulated_gpu::Core> core_;
  std::atomic<ncclResult_t> state_{ncclInProgress};
  std::thread worker_{};
  ringlet::emulated_gpu::PlannedFault fault_ = ringlet::emulated_gpu::PlannedFault::from_environment();
  std::map<std::string, int> calls_{};
  std::map<int, double> operators_{};  // the factors
  int next_operator_ = ncclNumOps;
};

namespace ringlet::emulated_gpu {

/// What ncclGetLastError says.
void set_last_error(const std::string& text);
const char* last_error_text();

}  // namespace ringlet::emulated_gpu
