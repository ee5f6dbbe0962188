#include "tensor/kernels/cuda/runtime.h"

#include "tensor/kernels/cuda/device_moment.h"
#include "tensor/kernels/cuda/labels.h"
#include "tensor/kernels/cuda/launch.h"
#include "tensor/kernels/cuda/matmul.h"
#include "tensor/kernels/cuda/recorded_work.h"
#include "tensor/kernels/cuda/stream_wait.h"

namespace ringlet::kernels::cuda {
namespace {

constexpr double kGiB = 0x1p30;

// While it lives, the calling thread's device is another; then again what it was.
class OnDevice {
 public:
  explicit OnDevice(int index) {
    check_cuda(cudaGetDevice(&previous_), "cudaGetDevice");
    check_cuda(cudaSetDevice(index), "cudaSetDevice");
  }
  ~OnDevice() { (void)cudaSetDevice(previous_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int previous_ = 0;
};

class DeviceMemory final : public Arena {
 public:
  explicit DeviceMemory(int index) : index_(index) {}

  void* acquire(size_t bytes) override {
    const OnDevice scope(index_);
    void* block = nullptr;
    if (const cudaError_t error = cudaMalloc(&block, bytes); error != cudaSuccess) {
      (void)cudaGetLastError();
      size_t free = 0, total = 0;
      (void)cudaMemGetInfo(&free, &total);
      fail<DeviceError>("cuda:{}: {} bytes asked for, {} of {} are free: {}", index_, bytes, free, total,
                        cudaGetErrorString(error));
    }
    return block;
  }
  void release(void* block, size_t) noexcept override { (void)cudaFree(block); }
  Device device() const override { return {Device::Kind::Cuda, index_}; }

 private:
  int index_;
};

class PinnedMemory final : public Arena {
 public:
  void* acquire(size_t bytes) override {
    void* block = nullptr;
    check_cuda(cudaHostAlloc(&block, bytes, cudaHostAllocDefault), "cudaHostAlloc");
    return block;
  }
  void release(void* block, size_t) noexcept override { (void)cudaFreeHost(block); }
};

class CudaGpu final : public Gpu {
 public:
  explicit CudaGpu(int count) : count_(count) {}

  int device_count() const override { return count_; }

  std::string description(int index) const override {
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
    return message("{}, {} GiB, compute capability {}.{}", properties.name,
                   static_cast<int64_t>(static_cast<double>(properties.totalGlobalMem) / kGiB), properties.major,
                   properties.minor);
  }

  int64_t cache_bytes(int index) const override {
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
    return properties.l2CacheSize;
  }

  void use(int index) override {
    check<DeviceUnavailable>(index >= 0 && index < count_, "cuda:{}: this machine has {} GPUs, numbered from 0", index, count_);
    check_cuda(cudaSetDevice(index), "cudaSetDevice");
  }

  std::shared_ptr<Arena> memory(int index) override {
    check<DeviceUnavailable>(index >= 0 && index < count_, "cuda:{}: this machine has {} GPUs, numbered from 0", index, count_);
    return std::make_shared<DeviceMemory>(index);
  }

  std::shared_ptr<Arena> pinned() override { return std::make_shared<PinnedMemory>(); }

  Device device_of(const void* memory) const override {
    cudaPointerAttributes found{};
    check_cuda(cudaPointerGetAttributes(&found, memory), "cudaPointerGetAttributes");
    const bool device = found.type == cudaMemoryTypeDevice || found.type == cudaMemoryTypeManaged;
    return device ? Device{Device::Kind::Cuda, found.device} : Device{};
  }

  // The runtime has copied pageable memory before it returns; on pinned memory it goes on working.
  void copy(void* to, const void* from, size_t bytes) override {
    const bool to_host = device_of(to) == Device{};
    if (to_host) {
      wait_for_stream();  // into pageable memory the runtime would wait itself, and not look around
    }
    start_copy(to, from, bytes);
    if (is_pinned(from)) {
      wait_for_stream();
    }
    if (to_host) {
      synchronize();
    }
  }

  void start_copy(void* to, const void* from, size_t bytes) override {
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cudaStreamPerThread), "cudaMemcpyAsync");
  }

  void zero(void* to, size_t bytes) override {
    check_cuda(cudaMemsetAsync(to, 0, bytes, cudaStreamPerThread), "cudaMemsetAsync");
  }

  void synchronize() override {
    wait_for_stream();
    fail_for_label_fault();
  }

  std::shared_ptr<void> watch(std::function<void()> look) override { return watch_waits(std::move(look)); }

  std::unique_ptr<DeviceMoment> mark() override { return mark_stream(); }

  void allow_tf32(bool allowed) override { cuda::allow_tf32(allowed); }

  std::unique_ptr<RecordedWork> record(const std::function<void()>& work) override { return record_work(work); }

 private:
  static bool is_pinned(const void* memory) {
    cudaPointerAttributes found{};
    return cudaPointerGetAttributes(&found, memory) == cudaSuccess && found.type == cudaMemoryTypeHost;
  }

  int count_;
};

}  // namespace

Gpu* open_gpu(std::string& why_not) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    why_not = error == cudaSuccess ? "there is no GPU" : message("{} ({})", cudaGetErrorString(error), cudaGetErrorName(error));
    return nullptr;
  }
  return new CudaGpu(count);
}

}  // namespace ringlet::kernels::cuda
