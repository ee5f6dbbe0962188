// The GPU backend: one GPU per rank, device memory moved by NCCL, host memory by the communicator that is told beside it.
//
// · On device memory a call is queued, and returns. It happens after all that the caller's stream (cudaStreamPerThread) has been given
//   before, and before all that it is given after a blocking verb returned, or after `Work::wait`: the host never waits for the GPU.
// · Float sums have order T, as everywhere (nccl_collectives.h says what NCCL adds itself).
// · Before anything is queued the ranks agree on the call through the host's communicator: who makes another one, has left or has
//   died is named there, on all ranks, and nothing hangs on a GPU. Costs a barrier of the hosts, which run ahead of their GPUs.
// · What goes wrong later (a peer that dies while its GPU is waited for) is noticed where the host looks: at the next call, in
//   Gpu::synchronize, in `Work::wait`. Then NCCL's communicator is aborted, and CommError names rank, operation and number.
// · Messages go through pinned host memory (staged.h): they match by tag, and NCCL's would wait for each other in stream order.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "collectives/algorithms/algorithm.h"
#include "collectives/communicator.h"
#include "collectives/nccl/nccl_group.h"
#include "tensor/base/gpu.h"

namespace ringlet {

struct NcclOptions {
  /// The longest that a call may be under way, or a rank be late.
  std::chrono::milliseconds deadline = std::chrono::seconds(60);
  ReductionOrder order = ReductionOrder::Canonical;
  /// False only where a benchmark measures what comparing the ranks' calls costs: then a mismatch is a hang.
  bool compare_calls = true;
};

/// (all) The ranks of `host` with a GPU each; this rank's is `device` of `gpu`. `host` carries host memory, comparisons, messages.
std::unique_ptr<Communicator> make_nccl(std::unique_ptr<Communicator> host, NcclLibrary& library, Gpu& gpu, int device,
                                        const NcclOptions& options = {});

/// libringlet_nccl.so, opened on the first call: from RINGLET_NCCL_LIBRARY, else beside the executable, else where libraries are
/// installed. Throws BackendUnavailable that says what was tried.
NcclLibrary& nccl_library();

/// Throws the BackendUnavailable of a rank that is alone on its host.
void require_nccl();
/// "2.28.9", or "no: " and why. For --info; every rank by itself.
std::string nccl_description();

/// (all) make_nccl for all ranks of the job, rank i of a host on its GPU i. BackendUnavailable, on all ranks, where one cannot: no
/// library, no GPU, or more ranks than GPUs on its host.
std::unique_ptr<Communicator> make_nccl_world(std::unique_ptr<Communicator> host, const NcclOptions& options = {});

}  // namespace ringlet
