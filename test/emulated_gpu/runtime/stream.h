// A stream is a host thread with a queue: what is put in runs in order, some time later.
#pragma once

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace ringlet::emulated_gpu {

using Task = std::function<void()>;
struct Capture;

/// The stream behind a handle: null when there is none. The stream of the host thread begins with its first use.
std::shared_ptr<CUstream_st> find_stream(cudaStream_t handle);

/// Puts `task` in the queue, or, while the stream is captured, into the graph.
cudaError_t submit(CUstream_st& stream, Task task);
/// The same by handle; the legacy stream comes after all blocking ones, and is waited for.
cudaError_t submit(cudaStream_t handle, Task task);

/// Waits for every stream of the device.
void finish_device(int device);

/// Whether this host thread captures, so that a call which a graph cannot hold breaks the capture; marks it broken.
bool refuse_while_capturing();

}  // namespace ringlet::emulated_gpu

struct CUstream_st {
  CUstream_st(int stream_device, bool waits_for_legacy);
  ~CUstream_st();  // finishes what is in the queue
  CUstream_st(const CUstream_st&) = delete;
  CUstream_st& operator=(const CUstream_st&) = delete;

  void enqueue(ringlet::emulated_gpu::Task task);
  void finish();
  bool is_idle();

  const int device;
  const bool blocking;  // towards the legacy stream
  std::shared_ptr<ringlet::emulated_gpu::Capture> capture;

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ringlet::emulated_gpu::Task> queue_;
  bool running_ = false, ends_ = false;
  std::thread worker_;
};
