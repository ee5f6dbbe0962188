#include "test/emulated_gpu/runtime/capture.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "test/emulated_gpu/runtime/call.h"

namespace ringlet::emulated_gpu {
namespace {

struct Captures {
  std::mutex mutex;
  std::vector<std::shared_ptr<Capture>> active;
};
Captures& captures() {
  static auto* const instance = new Captures;
  return *instance;
}

}  // namespace

bool refuse_while_capturing() {
  const std::lock_guard lock(captures().mutex);
  bool refused = false;
  for (const auto& capture : captures().active) {
    const bool mine = capture->thread == std::this_thread::get_id();
    if (mine ? capture->mode != cudaStreamCaptureModeRelaxed : capture->mode == cudaStreamCaptureModeGlobal) {
      capture->broken = true;
      refused = true;
    }
  }
  return refused;
}

cudaError_t append(CUstream_st& stream, Task task) {
  if (stream.capture->broken) {
    return cudaErrorStreamCaptureInvalidated;
  }
  stream.capture->tasks.push_back(std::move(task));
  if (&stream != stream.capture->origin) {
    stream.capture->loose.insert(&stream);
  }
  return cudaSuccess;
}

cudaError_t break_capture(CUstream_st& stream) {
  stream.capture->broken = true;
  return cudaErrorStreamCaptureUnsupported;
}

cudaError_t wait_inside_capture(const std::shared_ptr<CUstream_st>& stream, const std::shared_ptr<Capture>& capture,
                                const CUstream_st* recorded) {
  if (!capture) {  // an event from outside
    stream->capture->broken = true;
    return cudaErrorStreamCaptureIsolation;
  }
  if (!stream->capture) {
    stream->capture = capture;
    capture->joined.push_back(stream);
    capture->loose.insert(stream.get());
  } else if (stream->capture != capture) {
    stream->capture->broken = capture->broken = true;
    return cudaErrorStreamCaptureIsolation;
  }
  if (recorded != stream.get()) {
    capture->loose.erase(recorded);
  }
  return cudaSuccess;
}

}  // namespace ringlet::emulated_gpu

using namespace ringlet::emulated_gpu;

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return runtime_call("cudaStreamBeginCapture", [&] {
    const auto stream = find_stream(handle);
    if (!stream) {
      return cudaErrorInvalidResourceHandle;
    }
    if (handle == nullptr || handle == cudaStreamLegacy) {
      return cudaErrorStreamCaptureUnsupported;
    }
    if (stream->capture) {
      return cudaErrorIllegalState;
    }
    stream->capture = std::make_shared<Capture>();
    stream->capture->origin = stream.get();
    stream->capture->mode = mode;
    stream->capture->thread = std::this_thread::get_id();
    const std::lock_guard lock(captures().mutex);
    captures().active.push_back(stream->capture);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return runtime_call("cudaStreamEndCapture", [&] {
    *graph = nullptr;
    const auto stream = find_stream(handle);
    if (!stream || !stream->capture) {
      return stream ? cudaErrorIllegalState : cudaErrorInvalidResourceHandle;
    }
    const auto capture = stream->capture;
    if (capture->origin != stream.get()) {
      return cudaErrorStreamCaptureUnmatched;
    }
    if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id()) {
      return cudaErrorStreamCaptureWrongThread;
    }
    stream->capture = nullptr;
    for (const auto& joined : capture->joined) {
      joined->capture = nullptr;
    }
    {
      const std::lock_guard lock(captures().mutex);
      std::erase(captures().active, capture);
    }
    if (capture->broken) {
      return cudaErrorStreamCaptureInvalidated;
    }
    if (!capture->loose.empty()) {
      return cudaErrorStreamCaptureUnjoined;
    }
    *graph = new CUgraph_st{std::move(capture->tasks)};
    return cudaSuccess;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return runtime_call("cudaStreamIsCapturing", [&] {
    const auto stream = find_stream(handle);
    if (!stream) {
      return cudaErrorInvalidResourceHandle;
    }
    *status = !stream->capture          ? cudaStreamCaptureStatusNone
              : stream->capture->broken ? cudaStreamCaptureStatusInvalidated
                                        : cudaStreamCaptureStatusActive;
    return cudaSuccess;
  });
}

// Only how many there are.
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return runtime_call("cudaGraphGetNodes", [&] {
    if (nodes != nullptr) {
      return cudaErrorNotSupported;
    }
    *count = graph->tasks.size();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  return runtime_call("cudaGraphInstantiate", [&] {
    *executable = new CUgraphExec_st{std::make_shared<const std::vector<Task>>(graph->tasks)};
    return cudaSuccess;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return runtime_call("cudaGraphLaunch", [&] {
    return submit(stream, [tasks = executable->tasks] {
      for (const Task& task : *tasks) {
        task();
      }
    });
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return runtime_call("cudaGraphExecDestroy", [&] {
    delete executable;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return runtime_call("cudaGraphDestroy", [&] {
    delete graph;
    return cudaSuccess;
  });
}
