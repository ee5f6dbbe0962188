#include "test/emulated_gpu/runtime/stream.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "test/emulated_gpu/runtime/call.h"
#include "test/emulated_gpu/runtime/capture.h"
#include "test/emulated_gpu/runtime/memory.h"
#include "test/emulated_gpu/runtime/wait_until.h"

using ringlet::emulated_gpu::wait_until;

CUstream_st::CUstream_st(int stream_device, bool waits_for_legacy)
    : device(stream_device), blocking(waits_for_legacy), worker_([this] { work(); }) {}

CUstream_st::~CUstream_st() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

void CUstream_st::enqueue(ringlet::emulated_gpu::Task task) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void CUstream_st::finish() {
  std::unique_lock lock(mutex_);
  wait_until(changed_, lock, [&] { return queue_.empty() && !running_; });
}

bool CUstream_st::is_idle() {
  const std::lock_guard lock(mutex_);
  return queue_.empty() && !running_;
}

void CUstream_st::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wait_until(changed_, lock, [&] { return !queue_.empty() || ends_; });
    if (queue_.empty()) {
      return;
    }
    const ringlet::emulated_gpu::Task task = std::move(queue_.front());
    queue_.pop_front();
    running_ = true;
    lock.unlock();
    task();
    lock.lock();
    running_ = false;
    changed_.notify_all();
  }
}

namespace ringlet::emulated_gpu {
namespace {

struct Streams {
  std::mutex mutex;
  std::map<cudaStream_t, std::shared_ptr<CUstream_st>> known;
  std::map<int, std::shared_ptr<CUstream_st>> legacy;  // of each device
};
Streams& streams() {
  static auto* const instance = new Streams;
  return *instance;
}

std::shared_ptr<CUstream_st> add_stream(int device, bool blocking) {
  auto stream = std::make_shared<CUstream_st>(device, blocking);
  const std::lock_guard lock(streams().mutex);
  streams().known[stream.get()] = stream;
  return stream;
}

std::shared_ptr<CUstream_st> remove_stream(cudaStream_t handle) {
  const std::lock_guard lock(streams().mutex);
  const auto node = streams().known.extract(handle);
  return node ? node.mapped() : nullptr;
}

// The streams that this host thread has, one for each device that it used; they end with it.
struct OwnStreams {
  std::map<int, std::shared_ptr<CUstream_st>> of_device;
  ~OwnStreams() {
    for (const auto& [device, stream] : of_device) {
      remove_stream(stream.get());
    }
  }
};

std::vector<std::shared_ptr<CUstream_st>> streams_of(int device, bool only_blocking) {
  const std::lock_guard lock(streams().mutex);
  std::vector<std::shared_ptr<CUstream_st>> found;
  for (const auto& [handle, stream] : streams().known) {
    if (stream->device == device && (stream->blocking || !only_blocking)) {
      found.push_back(stream);
    }
  }
  return found;
}

}  // namespace

std::shared_ptr<CUstream_st> find_stream(cudaStream_t handle) {
  thread_local OwnStreams own;
  const int device = current_device();
  if (handle == cudaStreamPerThread) {
    auto& stream = own.of_device[device];
    if (!stream) {
      stream = add_stream(device, true);
    }
    return stream;
  }
  const std::lock_guard lock(streams().mutex);
  if (handle == nullptr || handle == cudaStreamLegacy) {
    auto& stream = streams().legacy[device];
    if (!stream) {
      stream = std::make_shared<CUstream_st>(device, false);
    }
    return stream;
  }
  const auto found = streams().known.find(handle);
  return found == streams().known.end() ? nullptr : found->second;
}

void finish_device(int device) {
  for (const auto& stream : streams_of(device, false)) {
    stream->finish();
  }
}

cudaError_t submit(CUstream_st& stream, Task task) {
  if (stream.capture) {
    return append(stream, std::move(task));
  }
  stream.enqueue([work = std::move(task)] {
    const DeviceAccess access;
    work();
  });
  return cudaSuccess;
}

cudaError_t submit(cudaStream_t handle, Task task) {
  const auto stream = find_stream(handle);
  if (!stream) {
    return cudaErrorInvalidResourceHandle;
  }
  if (handle != nullptr && handle != cudaStreamLegacy) {
    return submit(*stream, std::move(task));
  }
  if (refuse_while_capturing()) {
    return cudaErrorStreamCaptureUnsupported;
  }
  for (const auto& blocking : streams_of(stream->device, true)) {
    blocking->finish();
  }
  const cudaError_t error = submit(*stream, std::move(task));
  stream->finish();
  return error;
}

}  // namespace ringlet::emulated_gpu

using namespace ringlet::emulated_gpu;

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return runtime_call("cudaStreamCreateWithPriority", [&] {
    *stream = add_stream(current_device(), (flags & cudaStreamNonBlocking) == 0).get();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return runtime_call("cudaStreamCreateWithFlags", [&] {
    *stream = add_stream(current_device(), (flags & cudaStreamNonBlocking) == 0).get();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return runtime_call("cudaDeviceGetStreamPriorityRange", [&] {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return runtime_call("cudaStreamDestroy", [&] {
    const bool own = handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread;
    return !own && remove_stream(handle) ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return runtime_call("cudaStreamSynchronize", [&] {
    const auto stream = find_stream(handle);
    if (!stream) {
      return cudaErrorInvalidResourceHandle;
    }
    if (stream->capture) {
      return break_capture(*stream);
    }
    stream->finish();
    return lasting_error();
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return runtime_call("cudaStreamQuery", [&] {
    const auto stream = find_stream(handle);
    if (!stream) {
      return cudaErrorInvalidResourceHandle;
    }
    if (stream->capture) {
      return break_capture(*stream);
    }
    return stream->is_idle() ? lasting_error() : cudaErrorNotReady;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return runtime_call("cudaDeviceSynchronize", [&] {
    if (refuse_while_capturing()) {
      return cudaErrorStreamCaptureUnsupported;
    }
    finish_device(current_device());
    return lasting_error();
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user_data) {
  return runtime_call("cudaLaunchHostFunc", [&] { return submit(stream, [=] { function(user_data); }); });
}
