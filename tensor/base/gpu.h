// A GPU as the rest of ringlet sees it: memory, copies, and waiting. What computes on it is tensor/kernels/table.h.
//
// Nothing here needs CUDA: the one who does is libringlet_cuda.so, opened when first asked for. So one build runs on machines with
// and without a GPU, and no program has a CUDA library among those it needs.
//
// Everything a thread asks of the device is done in the order asked, on a stream of that thread's own, while the thread goes on;
// `synchronize` waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tensor/base/arena.h"
#include "tensor/base/check.h"
#include "tensor/base/device.h"

namespace ringlet {

/// No GPU, no driver, or no CUDA in this build. `what()` says which.
class DeviceUnavailable : public Error {
 public:
  using Error::Error;
};

/// A piece of work that was recorded once and is repeated as a whole, without the cost of starting each kernel (a CUDA graph).
class RecordedWork {
 public:
  virtual ~RecordedWork() = default;
  /// In the order of the calling thread's other work.
  virtual void launch() = 0;
};

/// A moment in the order of a thread's work on the device.
class DeviceMoment {
 public:
  virtual ~DeviceMoment() = default;
  /// Seconds from when the device reached `earlier` to when it reached this one, to about half a microsecond. For the thread that made
  /// both; waits for the device.
  virtual double seconds_since(const DeviceMoment& earlier) const = 0;
};

class Gpu {
 public:
  virtual ~Gpu() = default;

  /// At least 1.
  virtual int device_count() const = 0;
  /// "NVIDIA H200, 139 GiB, compute capability 9.0".
  virtual std::string description(int index) const = 0;
  /// Bytes of the cache in front of the memory of GPU `index`: what was touched last may come from there.
  virtual int64_t cache_bytes(int index) const = 0;

  /// What the calling thread asks from here on is for GPU `index`.
  virtual void use(int index) = 0;
  /// Memory of GPU `index`.
  virtual std::shared_ptr<Arena> memory(int index) = 0;
  /// Host memory from and to which the device copies while the host goes on.
  virtual std::shared_ptr<Arena> pinned() = 0;
  /// Where memory lies, as CUDA knows it: any pointer may be asked for.
  virtual Device device_of(const void* memory) const = 0;

  /// Between any two memories. When it returns, host memory has been read, or written.
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  /// The same, returning at once where host memory is `pinned`, which stays lent until `synchronize`.
  virtual void start_copy(void* to, const void* from, size_t bytes) = 0;
  virtual void zero(void* to, size_t bytes) = 0;

  /// Waits for everything that the calling thread asked for, and throws what went wrong in it: an `Error` for an id or a label out of
  /// range, a DeviceError for a fault of the device.
  virtual void synchronize() = 0;
  /// While what it returns lives, the calling thread calls `look` every few milliseconds in which it waits for the device, in
  /// `synchronize` or for a copy; what `look` throws ends the wait. So who waits for work that other GPUs take part in hears of them.
  virtual std::shared_ptr<void> watch(std::function<void()> look) = 0;

  /// The moment at which all is done that the calling thread has asked for so far. Does not wait.
  virtual std::unique_ptr<DeviceMoment> mark() = 0;

  /// Whether products of f32 may round their factors to TF32, which tensor cores multiply about 8 times as fast: 10 bits of mantissa, so
  /// that each product is off by at most 2^-10 of itself, before sums in f32. At first they may not. For all threads.
  virtual void allow_tf32(bool allowed) = 0;

  /// Runs `work` once without doing it, and keeps what it asks of the device. `work` may neither synchronize nor ask for memory that the
  /// allocator has not cached: run it once before.
  virtual std::unique_ptr<RecordedWork> record(const std::function<void()>& work) = 0;
};

/// The GPUs of this machine. The first call opens the library: that of the environment variable RINGLET_CUDA_LIBRARY, or
/// libringlet_cuda.so beside the program or among the system's. Throws DeviceUnavailable, always the same.
Gpu& gpu();
/// Why `gpu` throws; empty when it does not.
std::string why_no_gpu();
/// A function of the library, for those who know more of its functions than Gpu says.
void* gpu_symbol(const char* name);

}  // namespace ringlet
