// Events: a place in the order of a stream that others can wait for.
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "test/emulated_gpu/runtime/call.h"
#include "test/emulated_gpu/runtime/capture.h"
#include "test/emulated_gpu/runtime/stream.h"
#include "test/emulated_gpu/runtime/wait_until.h"

namespace ringlet::emulated_gpu {
namespace {

// One recording of an event. Who waits for it keeps it, when the event is recorded anew meanwhile.
class Mark {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Mark(const CUstream_st* of, std::shared_ptr<Capture> under) : stream(of), capture(std::move(under)) {}
  void reach() {
    {
      const std::lock_guard lock(mutex_);
      when_ = std::chrono::steady_clock::now();
    }
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    wait_until(changed_, lock, [&] { return when_.has_value(); });
  }
  /// When it was reached; empty before.
  std::optional<Time> when() {
    const std::lock_guard lock(mutex_);
    return when_;
  }

  const CUstream_st* const stream;         // that it was recorded in
  const std::shared_ptr<Capture> capture;  // of that stream

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Time> when_;
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
    const auto mark = std::make_shared<Mark>(stream.get(), stream->capture);
    {
      const std::lock_guard lock(event->mutex);
      event->mark = mark;
    }
    if (stream->capture) {
      return cudaSuccess;  // an order inside the graph, no work
    }
    return submit(handle, [mark] { mark->reach(); });
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
    return submit(handle, [mark] { mark->wait(); });
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return runtime_call("cudaEventSynchronize", [&] {
    const auto mark = event->last();
    if (mark && mark->capture) {
      return cudaErrorCapturedEvent;
    }
    if (mark) {
      mark->wait();
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
    return !mark || mark->when() ? lasting_error() : cudaErrorNotReady;
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return runtime_call("cudaEventElapsedTime", [&] {
    const auto from = start->last(), to = end->last();
    if (!from || !to || !start->timed || !end->timed) {
      return cudaErrorInvalidResourceHandle;
    }
    const auto begin = from->when(), finish = to->when();
    if (!begin || !finish) {
      return cudaErrorNotReady;
    }
    *milliseconds = std::chrono::duration<float, std::milli>(*finish - *begin).count();
    return cudaSuccess;
  });
}
