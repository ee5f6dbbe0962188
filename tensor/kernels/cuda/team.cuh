// A row is the work of a team: blockDim.x threads, which take its packs in turn and join what they have. How many threads
// depends on the length of a row alone, so a row has the same bits wherever it stands and however many there are:
//
//   n ≤ 1,024    a warp, 8 rows to a block: no barrier at all, and 8 warps are enough to fill a multiprocessor 8 blocks deep
//   n ≤ 8,192    a block of 256
//   beyond       a block of 1,024, so that the few rows of a vocabulary (50,257 wide) still fill the memory pipe
//
// Order of a sum: element i goes to thread (i / W) mod threads, into its running sum i mod W; the W of a thread are joined as a
// balanced tree, then lanes at distance 16, 8, 4, 2, 1, then warps the same way. W is 16 bytes' worth where that divides n,
// else 1. No chain is longer than 32 + 8 additions up to n = 16,384 (n / 1,024 + 10 beyond): |error| ≤ 40·eps·Σ|x|.
#pragma once

#include "tensor/kernels/cuda/math.cuh"
#include "tensor/kernels/cuda/pack.cuh"

namespace ringlet::kernels::cuda {

inline constexpr unsigned kAllLanes = 0xffffffffU;
inline constexpr int kLanes = 32;

/// The block for rows of length n: x counts the threads of a team, y the teams.
inline dim3 team_block(int64_t n) {
  if (n <= 1024) {
    return dim3(kLanes, 8);
  }
  return n <= 8192 ? dim3(256) : dim3(1024);
}
inline dim3 team_grid(int64_t rows, dim3 block) { return dim3(static_cast<unsigned>((rows + block.y - 1) / block.y)); }

/// Calls `launch_width.template operator()<W>()` with the W of rows of length n.
template <typename T, typename F>
void with_width(int64_t n, F&& launch_width) {
  if (n % kPackWidth<T> == 0) {
    launch_width.template operator()<kPackWidth<T>>();
  } else {
    launch_width.template operator()<1>();
  }
}

__device__ inline int64_t team_row() { return static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; }

/// Calls body(i) for the first element i of each pack of this thread, of a row of length n. Where a pack is one element, four
/// at a time, so that their loads are on their way together.
template <int W, typename Body>
__device__ void for_each_pack(int64_t n, Body&& body) {
  const int64_t stride = static_cast<int64_t>(blockDim.x) * W;
  int64_t i = static_cast<int64_t>(threadIdx.x) * W;
  for (; W == 1 && i + 3 * stride < n; i += 4 * stride) {
    body(i), body(i + stride), body(i + 2 * stride), body(i + 3 * stride);
  }
  for (; i < n; i += stride) {
    body(i);
  }
}

struct Plus {
  template <typename A>
  __device__ A operator()(A a, A b) const {
    return a + b;
  }
};

/// v[0] = the W of v joined as a balanced tree.
template <int W, typename A, typename Join>
__device__ A join_pack(A (&v)[W], Join join) {
  for (int half = W / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) {
      v[k] = join(v[k], v[k + half]);
    }
  }
  return v[0];
}

template <typename A>
__device__ A from_lane(A v, int distance) {
  return __shfl_xor_sync(kAllLanes, v, distance);
}

/// What all threads of the team brought, joined; every thread gets it. All threads of the team must come.
template <typename A, typename Join>
__device__ A join_team(A v, Join join) {
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    v = join(v, from_lane(v, distance));
  }
  if (blockDim.x == kLanes) {
    return v;
  }
  __shared__ A of_warp[kLanes];
  const int warps = static_cast<int>(blockDim.x) / kLanes, lane = static_cast<int>(threadIdx.x) % kLanes;
  __syncthreads();  // what the last call left has been read
  if (lane == 0) {
    of_warp[threadIdx.x / kLanes] = v;
  }
  __syncthreads();
  v = of_warp[lane % warps];
  for (int distance = warps / 2; distance > 0; distance /= 2) {
    v = join(v, from_lane(v, distance));
  }
  return v;
}

/// Σ f(i) over a row of length n, f giving a pack of W terms from element i on; and that divided by n.
template <int W, typename A, typename F>
__device__ A sum_row(int64_t n, F&& f) {
  A sum[W] = {};
  for_each_pack<W>(n, [&](int64_t i) {
    const Pack<A, W> terms = f(i);
    for (int k = 0; k < W; ++k) {
      sum[k] += terms.v[k];
    }
  });
  return join_team(join_pack(sum, Plus{}), Plus{});
}
template <int W, typename A, typename F>
__device__ A mean_row(int64_t n, F&& f) {
  return sum_row<W, A>(n, f) / static_cast<A>(n);
}

}  // namespace ringlet::kernels::cuda
