// y[r] = join of f(x[r, i]) over i, for the rows of a contiguous [rows, n]: the last extent goes.
//
// A row of up to 16,384 elements is the work of one team (team.cuh, which gives the order). A longer one, such as the sum over
// a whole tensor, is cut into chunks of 16,384, each a row of its own, so that every multiprocessor has something to do; a
// second launch joins the chunks' results, one team to a row. Both cuts depend on n alone. No chain of additions is longer than
// 40 inside a chunk, and 40 over the chunks up to n = 2^28 (n / 2^24 + 10 beyond): |error| ≤ 80·eps·Σ|x|. Twin: sum_lanes and
// max_lanes in cpu/summation.h.
#pragma once

#include <algorithm>

#include "tensor/kernels/cuda/scratch.h"
#include "tensor/kernels/cuda/team.cuh"

namespace ringlet::kernels::cuda {

inline constexpr int64_t kRowChunk = 16384;

/// `chunks` pieces of every row, each of kRowChunk elements but the last; one piece is the row.
template <int W, typename T, typename Y, typename F, typename Join>
__global__ __launch_bounds__(1024) void reduce_row_kernel(const T* x, Y* y, int64_t pieces, int64_t chunks, int64_t n,
                                                          bool aligned, F f, Join join) {
  using A = typename Join::Value;
  const int64_t piece = team_row();
  if (piece >= pieces) {
    return;
  }
  const int64_t row = piece / chunks, begin = (piece - row * chunks) * kRowChunk;
  const int64_t length = chunks == 1 ? n : (n - begin < kRowChunk ? n - begin : kRowChunk);
  const T* from = x + row * n + begin;
  A all[W];
  for (int k = 0; k < W; ++k) {
    all[k] = Join::identity();
  }
  for_each_pack<W>(length, [&](int64_t i) {
    const Pack<T, W> values = load_pack<W>(from + i, aligned);
    for (int k = 0; k < W; ++k) {
      all[k] = join(all[k], f(values.v[k]));
    }
  });
  const A total = join_team(join_pack(all, join), join);
  if (threadIdx.x == 0) {
    y[piece] = static_cast<Y>(total);
  }
}

template <typename T, typename Y, typename F, typename Join>
void launch_reduce_rows(const T* x, Y* y, int64_t rows, int64_t chunks, int64_t n, F f, Join join) {
  const int64_t longest = chunks == 1 ? n : kRowChunk;
  const dim3 block = team_block(longest);
  with_width<T>(n, [&]<int W>() {
    launch(reduce_row_kernel<W, T, Y, F, Join>, team_grid(rows * chunks, block), block, 0, x, y, rows * chunks, chunks, n,
           is_aligned<W>(x), f, join);
  });
}

struct Itself {
  template <typename A>
  __device__ A operator()(A x) const {
    return x;
  }
};

/// x: [rows, n]   y: [rows]
template <typename T, typename Y, typename F, typename Join>
void reduce_rows(const T* x, Y* y, int64_t rows, int64_t n, F f, Join join) {
  const int64_t chunks = (n + kRowChunk - 1) / kRowChunk;
  if (chunks <= 1) {
    launch_reduce_rows(x, y, rows, 1, n, f, join);
    return;
  }
  auto* part = scratch_for<typename Join::Value>(rows * chunks);
  launch_reduce_rows(x, part, rows, chunks, n, f, join);
  launch_reduce_rows(part, y, rows, 1, chunks, Itself{}, join);
}

}  // namespace ringlet::kernels::cuda
