// Tiles of attention for tensor cores: 64 rows or keys of bf16 in shared memory, multiplied 16 x 16 at a time into sums in fp32.
//
// A block has four warps, each with 16 rows (or keys) of the tile. A warp's sums lie spread over its threads in a way that CUDA does
// not tell; so a warp once loads a tile whose elements are their own places, and then every thread knows of each of its eight
// elements where it is. Rows of a tile are 16 bytes longer than their columns, so that eight of them lie in different banks.
#pragma once

#include "tensor/kernels/cuda/attention_head.cuh"
#include "tensor/kernels/cuda/pack.cuh"
#include "tensor/kernels/cuda/tensor_core.cuh"

namespace ringlet::kernels::cuda {

inline constexpr int kWarps = 4, kFragmentThreads = 32 * kWarps, kFragmentRows = kSide * kWarps;
/// From one row of weights to the next.
inline constexpr int kWeightStride = kFragmentRows + 8;

template <int D>
struct alignas(128) HalfRows {
  __nv_bfloat16 v[kFragmentRows][D + 8];
};
/// Of each warp: weights of its 16 rows (or keys) for 64 keys (or rows).
struct alignas(128) HalfWeights {
  __nv_bfloat16 v[kWarps][kSide][kWeightStride];
};

/// to.v[r] = row r, which is source(r), for r < count; zeros beyond. All threads of the block; whether what this one loaded is finite.
template <int D, typename Source>
__device__ bool load_half_rows(HalfRows<D>& to, int count, Source&& source) {
  constexpr int W = kPackWidth<bf16>, kPacks = D / W;
  bool finite = true;
  for (int e = static_cast<int>(threadIdx.x); e < kFragmentRows * kPacks; e += kFragmentThreads) {
    const int r = e / kPacks, d = e % kPacks * W;
    Pack<bf16, W> x{};
    if (r < count) {
      x = load_pack<W>(source(r) + d, true);
    }
    Pack<__nv_bfloat16, W> y;
    for (int w = 0; w < W; ++w) {
      finite = finite && (x.v[w].bits & 0x7f80U) != 0x7f80U;
      y.v[w] = __ushort_as_bfloat16(x.v[w].bits);
    }
    store_pack(&to.v[r][d], y, true);
  }
  return finite;
}

/// sums = rows·colsᵀ: 16 rows of one tile times 16 rows of another, over all D columns.
template <int D>
__device__ void multiply_rows(Sums& sums, const HalfRows<D>& rows, int row, const HalfRows<D>& columns, int column) {
  wmma::fill_fragment(sums, 0.0F);
  for (int d = 0; d < D; d += kSide) {
    LeftFactor a;
    TurnedFactor b;
    wmma::load_matrix_sync(a, &rows.v[row][d], D + 8);
    wmma::load_matrix_sync(b, &columns.v[column][d], D + 8);
    wmma::mma_sync(sums, a, b, sums);
  }
}

/// sums += weights·rows, of this warp: its weights [16, 64] times the tile, in steps of 16 from `begin` to `end`.
template <int D>
__device__ void add_weighted_rows(Sums (&sums)[D / kSide], const HalfWeights& weights, const HalfRows<D>& rows, int begin,
                                  int end) {
  for (int j = begin; j < end; j += kSide) {
    LeftFactor a;
    wmma::load_matrix_sync(a, &weights.v[threadIdx.x / 32][0][j], kWeightStride);
#pragma unroll
    for (int n = 0; n < D / kSide; ++n) {
      RightFactor b;
      wmma::load_matrix_sync(b, &rows.v[j][n * kSide], D + 8);
      wmma::mma_sync(sums[n], a, b, sums[n]);
    }
  }
}

/// A weight of 0 stands for what a row does not see, but 0·NaN is NaN. So, where a tile is not finite, what is not is multiplied here,
/// for those that do see it (sees(r, j): row r of this warp, row j of the tile), and 0 takes its place: then the products with the
/// tile have the bits that they would have without it. All threads of the block.
template <int D, typename Sees>
__device__ void take_out_infinite(Sums (&sums)[D / kSide], const Places& at, const HalfWeights& weights, HalfRows<D>& rows,
                                  Sees&& sees) {
#pragma unroll
  for (int n = 0; n < D / kSide; ++n) {
#pragma unroll
    for (int e = 0; e < Sums::num_elements; ++e) {
#pragma unroll 1
      for (int j = 0; j < kFragmentRows; ++j) {
        const float x = __bfloat162float(rows.v[j][n * kSide + at.column(e)]);
        if (!isfinite(x) && sees(at.row(e), j)) {
          sums[n].x[e] += __bfloat162float(weights.v[threadIdx.x / 32][at.row(e)][j]) * x;
        }
      }
    }
  }
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < kFragmentRows * D; e += kFragmentThreads) {
    __nv_bfloat16& x = rows.v[e / D][e % D];
    x = isfinite(__bfloat162float(x)) ? x : __float2bfloat16_rn(0.0F);
  }
  __syncthreads();
}

/// Row r of this warp's 16, as bf16, to to(r) for those of its rows that exist: by way of its rows of `stage`, in packs.
template <int D, typename Exists, typename To>
__device__ void store_sums(const Sums (&sums)[D / kSide], const Places& at, HalfRows<D>& stage, Exists&& exists, To&& to) {
  const int warp_row = static_cast<int>(threadIdx.x) / 32 * kSide, lane = static_cast<int>(threadIdx.x) % 32;
  __syncwarp();
#pragma unroll
  for (int n = 0; n < D / kSide; ++n) {
#pragma unroll
    for (int e = 0; e < Sums::num_elements; ++e) {
      stage.v[warp_row + at.row(e)][n * kSide + at.column(e)] = __float2bfloat16_rn(sums[n].x[e]);
    }
  }
  __syncwarp();
  constexpr int W = kPackWidth<bf16>, kPacks = D / W;
  for (int e = lane; e < kSide * kPacks; e += 32) {
    const int r = e / kPacks, d = e % kPacks * W;
    if (exists(r)) {
      const auto x = load_pack<W>(&stage.v[warp_row + r][d], true);
      Pack<bf16, W> y;
      for (int w = 0; w < W; ++w) {
        y.v[w].bits = __bfloat16_as_ushort(x.v[w]);
      }
      store_pack(to(r) + d, y, true);
    }
  }
}

}  // namespace ringlet::kernels::cuda
