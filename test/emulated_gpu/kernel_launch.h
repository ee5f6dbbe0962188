// A kernel with its arguments and its shape, on its way to a stream.
#pragma once

#include <driver_types.h>

#include <cstddef>
#include <functional>

namespace ringlet::emulated_gpu {

struct KernelLaunch {
  const void* function = nullptr;  // its address, for its name
  std::function<void()> body;      // what one thread does
  dim3 grid, block;
  size_t shared_bytes = 0;  // dynamic shared memory of a block
};

/// What cudaLaunchKernel does once the arguments have types.
cudaError_t launch_kernel(KernelLaunch launch, cudaStream_t stream);

}  // namespace ringlet::emulated_gpu
