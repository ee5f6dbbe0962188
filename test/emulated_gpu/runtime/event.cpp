// Events: a place in the order of a stream that others can wait for.
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

#include "test/emulated_gpu/runtime/call.h"
#include "test/emulated_gpu/runtime/capture.h"
#include "test/emulated_gpu/runtime/stream.h"

namespace ringlet::emulated_gpu {
namespace {

// One recording of an event. Who waits for it keeps it, when the event is recorded anew meanwhile.
struct Mark {
  std::atomic<bool> reached{false};
  std::chrono::steady_clock::time_point when;
  std::shared_ptr<Capture> capture;  // of the stream it was recorded in
  const CUstream_st* stream = nullptr;
};

}  // namespace
}  // namespace ringlet::emulated_gpu

struct CUevent_st {
  const int device;
  const bool timed;
  std::mutex mutex;
  std::shared_ptr<ringlet::emulated_gpu::Mark> mark;  // the last recording; null before the first

  std::shared_ptr<ringlet::emulated_gpu::Mark> last() {
    const std::lock_guard lock(mutex);
    return mark;
  }
};

using namespace ringlet::emulated_gpu;

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return runtime_call("cudaEventCreateWithFlags", [&] {
    *event =
        new CUevent_st{.device = current_device(), .timed = (flags & cudaEventDisableTiming) == 0, .mutex = {}, .mark = {}};
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return runtime_call("cudaEventDestroy", [&] {
    delete event;
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  return runtime_call("cudaEventRecord", [&] {
    const auto stream = find_stream(handle);
    if (event == nullptr || !stream || stream->device != event->device) {
      return cudaErrorInvalidResourceHandle;
    }
    const auto mark = std::make_shared<Mark>();
    mark->capture = stream->capture;
    mark->stream = stream.get();
    {
      const std::lock_guard lock(event->mutex);
      event->mark = mark;
    }
    if (stream->capture) {
      return cudaSuccess;  // an order inside the graph, no work
    }
    return submit(handle, [mark] {
      mark->when = std::chrono::steady_clock::now();
      mark->reached = true;
      mark->reached.notify_all();
    });
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  return runtime_call("cudaStreamWaitEvent", [&] {
    const auto stream = find_stream(handle);
    if (event == nullptr || !stream) {
      return cudaErrorInvalidResourceHandle;
    }
    const auto mark = event->last();
    if (!mark) {
      return cudaSuccess;
    }
    if (stream->capture || mark->capture) {
      return wait_inside_capture(stream, mark->capture, mark->stream);
    }
    return submit(handle, [mark] { mark->reached.wait(false); });
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return runtime_call("cudaEventSynchronize", [&] {
    const auto mark = event->last();
    if (mark && mark->capture) {
      return cudaErrorCapturedEvent;
    }
    if (mark) {
      mark->reached.wait(false);
    }
    return lasting_error();
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return runtime_call("cudaEventQuery", [&] {
    const auto mark = event->last();
    if (mark && mark->capture) {
      return cudaErrorCapturedEvent;
    }
    return !mark || mark->reached ? lasting_error() : cudaErrorNotReady;
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return runtime_call("cudaEventElapsedTime", [&] {
    const auto from = start->last(), to = end->last();
    if (!from || !to || !start->timed || !end->timed) {
      return cudaErrorInvalidResourceHandle;
    }
    if (!from->reached || !to->reached) {
      return cudaErrorNotReady;
    }
    *milliseconds = std::chrono::duration<float, std::milli>(to->when - from->when).count();
    return cudaSuccess;
  });
}
