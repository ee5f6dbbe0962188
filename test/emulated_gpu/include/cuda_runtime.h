// CUDA C++ for the host's compiler: the words of the language, and the runtime's calls with types.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <tuple>
#include <utility>

#include "test/emulated_gpu/device/atomics.h"
#include "test/emulated_gpu/device/indices.h"
#include "test/emulated_gpu/device/math.h"
#include "test/emulated_gpu/device/warp.h"
#include "test/emulated_gpu/kernel_launch.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
// A block runs on one host thread, that of its stream: what that thread owns is what the block shares.
#define __shared__ static thread_local

template <typename T>
cudaError_t cudaMalloc(T** pointer, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}
template <typename T>
cudaError_t cudaMallocHost(T** pointer, size_t bytes, unsigned flags = 0) {
  return cudaHostAlloc(reinterpret_cast<void**>(pointer), bytes, flags);
}
template <typename T>
cudaError_t cudaHostAlloc(T** pointer, size_t bytes, unsigned flags) {
  return cudaHostAlloc(reinterpret_cast<void**>(pointer), bytes, flags);
}
template <typename F>
cudaError_t cudaFuncSetAttribute(F* function, cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(function), attribute, value);
}
template <typename F>
cudaError_t cudaFuncGetName(const char** name, F* function) {
  return cudaFuncGetName(name, reinterpret_cast<const void*>(function));
}

/// Starts `kernel` with the arguments that `arguments` points to, one pointer for each, copied before this returns.
template <typename... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments, size_t shared_bytes = 0,
                             cudaStream_t stream = nullptr) {
  const auto copy = [&]<size_t... i>(std::index_sequence<i...>) {
    return std::tuple<Parameters...>(*static_cast<std::remove_reference_t<Parameters>*>(arguments[i])...);
  };
  auto values = copy(std::index_sequence_for<Parameters...>());
  return ringlet::emulated_gpu::launch_kernel({.function = reinterpret_cast<const void*>(kernel),
                                               .body = [kernel, values] { std::apply(kernel, values); },
                                               .grid = grid,
                                               .block = block,
                                               .shared_bytes = shared_bytes},
                                              stream);
}
