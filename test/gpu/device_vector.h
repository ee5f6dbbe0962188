// Device memory with values from the host, and back: waits for both.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

#include "tensor/kernels/cuda/launch.h"

template <typename T>
class DeviceVector {
 public:
  explicit DeviceVector(size_t size) : size_(size) {
    ringlet::kernels::cuda::check_cuda(cudaMalloc(&data_, size * sizeof(T)), "cudaMalloc");
  }
  explicit DeviceVector(const std::vector<T>& values) : DeviceVector(values.size()) {
    copy(data_, values.data(), cudaMemcpyHostToDevice);
  }
  ~DeviceVector() { cudaFree(data_); }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;

  T* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> result(size_);
    copy(result.data(), data_, cudaMemcpyDeviceToHost);
    return result;
  }

 private:
  void copy(void* to, const void* from, cudaMemcpyKind kind) const {
    ringlet::kernels::cuda::check_cuda(cudaMemcpyAsync(to, from, size_ * sizeof(T), kind, cudaStreamPerThread),
                                       "cudaMemcpyAsync");
    ringlet::kernels::cuda::check_cuda(cudaStreamSynchronize(cudaStreamPerThread), "cudaStreamSynchronize");
  }

  size_t size_;
  T* data_ = nullptr;
};
