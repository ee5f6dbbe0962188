// How kernels are started, and how errors of the runtime become exceptions.
//
// For .cu files, and .cpp files that call the CUDA runtime: nvcc, the host's compiler with CUDA's headers, and the host's compiler
// with those of the emulated GPU all read it. Kernels start by `launch`, not by `<<<...>>>`, which only nvcc knows.
#pragma once

#include <cuda_runtime.h>
#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "tensor/base/check.h"
#include "tensor/base/gpu_error.h"

namespace ringlet::kernels::cuda {

/// Throws `DeviceError` unless `error` is cudaSuccess. `who` is the call or the kernel.
inline void check_cuda(cudaError_t error, std::string_view who) {
  if (error != cudaSuccess) [[unlikely]] {
    fail<DeviceError>("{}: {}, {}", who, cudaGetErrorString(error), cudaGetErrorName(error));
  }
}

/// The name of a kernel as its source has it; "kernel" when the runtime does not know.
inline std::string kernel_name(const void* kernel) {
  const char* mangled = nullptr;
  if (cudaFuncGetName(&mangled, kernel) != cudaSuccess || mangled == nullptr) {
    return "kernel";
  }
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr), &std::free);
  return name ? name.get() : mangled;
}

/// More than this much dynamic shared memory, a kernel gets only when it asks.
inline constexpr size_t kSharedBytesWithoutAsking = 48 * 1024;

/// Starts `kernel(arguments...)` on `grid` blocks of `block` threads, with `shared_bytes` of dynamic shared memory for each block, on
/// the stream of this host thread. An empty grid starts nothing. Returns at once. Throws `DeviceError` when the launch is refused; what a kernel does wrong while it
/// runs is reported by a later call.
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes, Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments), "launch: as many arguments as the kernel has parameters");
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) {
    return;
  }
  std::tuple<Parameters...> values(static_cast<Parameters>(std::forward<Arguments>(arguments))...);
  cudaError_t error = cudaSuccess;
  if (shared_bytes > kSharedBytesWithoutAsking) {
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
  }
  if (error == cudaSuccess) {
    error = std::apply(
        [&](auto&... value) {
          void* pointers[] = {static_cast<void*>(&value)..., nullptr};
          return cudaLaunchKernel(kernel, grid, block, pointers, shared_bytes, cudaStreamPerThread);
        },
        values);
  }
  if (error != cudaSuccess) [[unlikely]] {
    (void)cudaGetLastError();  // said here; the next call shall not say it again
    check_cuda(error, kernel_name(reinterpret_cast<const void*>(kernel)));
  }
}

#if defined(__CUDACC__)
/// The dynamic shared memory of the block, aligned to 128 bytes.
template <typename T>
__device__ T* dynamic_shared() {
  extern __shared__ __align__(128) unsigned char ringlet_dynamic_shared[];
  return reinterpret_cast<T*>(ringlet_dynamic_shared);
}
#elif defined(RINGLET_EMULATED_GPU)
template <typename T>
T* dynamic_shared() {
  return static_cast<T*>(emulated_gpu::dynamic_shared_memory);
}
#endif

}  // namespace ringlet::kernels::cuda
