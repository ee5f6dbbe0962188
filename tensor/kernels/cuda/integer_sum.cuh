// Sums of integers over a block and over the grid. Whole numbers may be added in any order, so atomics keep every bit.
#pragma once

#include <cstdint>

#include "tensor/kernels/cuda/launch.h"

namespace ringlet::kernels::cuda {

/// The sum of what the 32 threads of a warp brought; all of them get it.
__device__ inline uint64_t sum_warp(uint64_t x) {
  for (int distance = 16; distance > 0; distance /= 2) {
    x += __shfl_xor_sync(0xffffffffU, x, distance);
  }
  return x;
}

/// *sum += x, once for each warp.
__device__ inline void add_from_warp(uint64_t* sum, uint64_t x) {
  x = sum_warp(x);
  if (threadIdx.x % 32 == 0 && x != 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(x));
  }
}

}  // namespace ringlet::kernels::cuda
