// y[o, c] = join of f(o, r, c) over r, for a contiguous [outer, n, inner]: a middle extent, or the first, goes.
//
// A block takes 32 neighbouring columns, so that a warp reads 128 bytes of a row, with 16 threads to a column: thread t takes
// rows t, t + 16, …; the 16 are then joined through shared memory as a balanced tree. Below 32 rows a block is 256 columns with
// one thread each. Rows are cut into chunks of 256, a block each, which gives 768 columns of 8,192 rows 768 blocks; what the
// chunks gave is reduced the same way until one chunk is left. All of it depends on n alone. Chains of additions: at most 32 +
// 4 a level, and one level for every 8 bits of n: |error| ≤ 36·⌈log_256 n⌉·eps·Σ|x|. Twin: sum_columns in cpu/summation.h.
#pragma once

#include <algorithm>
#include <utility>

#include "tensor/kernels/cuda/scratch.h"
#include "tensor/kernels/cuda/team.cuh"

namespace ringlet::kernels::cuda {

inline constexpr int64_t kColumnChunk = 256, kFewRows = 32;
inline constexpr int kColumnThreads = 512;

/// What one block reads and writes: f(o, r, c) in, store(i, total) out, i counting [outer, chunks, inner].
template <typename F, typename Join, typename Store>
__global__ __launch_bounds__(kColumnThreads) void reduce_column_kernel(int64_t n, int64_t inner, int64_t tiles, int64_t chunks,
                                                                       F f, Join join, Store store) {
  using A = typename Join::Value;
  const int64_t chunk = static_cast<int64_t>(blockIdx.x) / tiles, o = chunk / chunks;
  const int64_t c = (static_cast<int64_t>(blockIdx.x) - chunk * tiles) * blockDim.x + threadIdx.x;
  const int64_t first = (chunk - o * chunks) * kColumnChunk, last = n - first < kColumnChunk ? n : first + kColumnChunk;
  A total = Join::identity();
  if (c < inner) {
    for (int64_t r = first + threadIdx.y; r < last; r += blockDim.y) {
      total = join(total, f(o, r, c));
    }
  }
  __shared__ A of_thread[kColumnThreads];
  A* mine = of_thread + threadIdx.y * blockDim.x + threadIdx.x;
  *mine = total;
  __syncthreads();
  for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
    if (threadIdx.y < half) {
      *mine = join(*mine, mine[half * blockDim.x]);
    }
    __syncthreads();
  }
  if (threadIdx.y == 0 && c < inner) {
    store(chunk * inner + c, *mine);
  }
}

template <typename F, typename Join, typename Store>
void launch_reduce_columns(int64_t outer, int64_t n, int64_t inner, F f, Join join, Store store) {
  const dim3 block = n < kFewRows ? dim3(256) : dim3(32, 16);
  const int64_t tiles = (inner + block.x - 1) / block.x, chunks = std::max<int64_t>(1, (n + kColumnChunk - 1) / kColumnChunk);
  launch(reduce_column_kernel<F, Join, Store>, dim3(static_cast<unsigned>(outer * chunks * tiles)), block, 0, n, inner, tiles,
         chunks, f, join, store);
}

/// What a level left, and where it is left.
template <typename A>
struct Partial {
  A* values;
  int64_t n, inner;
  __device__ A operator()(int64_t o, int64_t r, int64_t c) const { return values[(o * n + r) * inner + c]; }
};
template <typename A>
struct StorePartial {
  A* values;
  __device__ void operator()(int64_t i, A total) const { values[i] = total; }
};

template <typename F, typename Join, typename Store>
void reduce_columns(int64_t outer, int64_t n, int64_t inner, F f, Join join, Store store) {
  using A = typename Join::Value;
  int64_t chunks = (n + kColumnChunk - 1) / kColumnChunk;
  if (chunks <= 1) {
    launch_reduce_columns(outer, n, inner, f, join, store);
    return;
  }
  const int64_t columns = outer * inner, next = (chunks + kColumnChunk - 1) / kColumnChunk;
  A* part = scratch_for<A>(columns * (chunks + next));  // two levels take turns
  A* other = part + columns * chunks;
  launch_reduce_columns(outer, n, inner, f, join, StorePartial<A>{part});
  for (; chunks > kColumnChunk; chunks = (chunks + kColumnChunk - 1) / kColumnChunk) {
    launch_reduce_columns(outer, chunks, inner, Partial<A>{part, chunks, inner}, join, StorePartial<A>{other});
    std::swap(part, other);
  }
  launch_reduce_columns(outer, chunks, inner, Partial<A>{part, chunks, inner}, join, store);
}

}  // namespace ringlet::kernels::cuda
