// Products of 16 x 16 by a warp, bf16 in, fp32 out (CUDA's wmma).
#pragma once

#include "tensor/kernels/cuda/launch.h"

namespace ringlet::kernels::cuda {

namespace wmma = nvcuda::wmma;

inline constexpr int kSide = 16;
using Sums = wmma::fragment<wmma::accumulator, kSide, kSide, kSide, float>;
using LeftFactor = wmma::fragment<wmma::matrix_a, kSide, kSide, kSide, __nv_bfloat16, wmma::row_major>;
using RightFactor = wmma::fragment<wmma::matrix_b, kSide, kSide, kSide, __nv_bfloat16, wmma::row_major>;
using TurnedFactor = wmma::fragment<wmma::matrix_b, kSide, kSide, kSide, __nv_bfloat16, wmma::col_major>;

/// Which element of the 16 x 16 each of a thread's elements is.
class Places {
 public:
  /// All threads of the block; `space` for 256 floats in shared memory is free again afterwards.
  __device__ explicit Places(float* space) {
    for (int e = static_cast<int>(threadIdx.x); e < kSide * kSide; e += static_cast<int>(blockDim.x)) {
      space[e] = static_cast<float>(e);
    }
    __syncthreads();
    Sums own;
    wmma::load_matrix_sync(own, space, kSide, wmma::mem_row_major);
#pragma unroll
    for (int e = 0; e < Sums::num_elements; ++e) {
      place_[e] = static_cast<int>(own.x[e]);
    }
    __syncthreads();
  }
  __device__ int row(int e) const { return place_[e] / kSide; }
  __device__ int column(int e) const { return place_[e] % kSide; }

 private:
  int place_[Sums::num_elements];
};

}  // namespace ringlet::kernels::cuda
