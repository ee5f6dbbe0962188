// A stream under capture: what is submitted to it, and to the streams that wait for its events, becomes a graph.
//
// The graph is the list of its tasks in the order of the calls, which is one of those that the events allow.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "test/emulated_gpu/runtime/stream.h"

struct CUgraph_st {
  std::vector<ringlet::emulated_gpu::Task> tasks;
};
struct CUgraphExec_st {
  std::shared_ptr<const std::vector<ringlet::emulated_gpu::Task>> tasks;
};

namespace ringlet::emulated_gpu {

struct Capture {
  CUstream_st* origin = nullptr;
  cudaStreamCaptureMode mode{};
  std::thread::id thread;
  bool broken = false;
  std::vector<Task> tasks;
  std::vector<std::shared_ptr<CUstream_st>> joined;  // streams that came to be captured by waiting for an event
  std::set<const CUstream_st*> loose;                // those of them with work that no other stream has waited for
};

cudaError_t append(CUstream_st& stream, Task task);
/// A call came that a capture cannot hold: marks it broken.
cudaError_t break_capture(CUstream_st& stream);

/// `stream` waits for what `recorded`, a stream under `capture`, has done.
cudaError_t wait_inside_capture(const std::shared_ptr<CUstream_st>& stream, const std::shared_ptr<Capture>& capture,
                                const CUstream_st* recorded);

}  // namespace ringlet::emulated_gpu
