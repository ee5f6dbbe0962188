// The largest number m of a row and s = Σ exp(x − m), in one reading ("online normalizer calculation for softmax", Milakov &
// Gimelshein, 2018): where a larger number turns up, what was summed so far is scaled by exp(m_old − m_new). A row that is not
// in the caches is then read once instead of twice, for one more exponential a pack.
//
// Order: that of team.cuh, every pack summed from its first element to its last. Each scaling adds a rounding: at most one a
// pack and one a level of the tree, so the bound on the error of s doubles. A row of −inf alone has m = −inf and s = 0.
#pragma once

#include "tensor/kernels/cuda/team.cuh"

namespace ringlet::kernels::cuda {

template <typename A>
struct MaxAndSum {
  A max, sum;
};

/// What is subtracted before exp: −inf − (−inf) would be NaN.
template <typename A>
__device__ A shift_of(A max) {
  return max == -kInfinity<A> ? A(0) : max;
}

struct JoinMaxAndSum {
  template <typename A>
  __device__ MaxAndSum<A> operator()(MaxAndSum<A> a, MaxAndSum<A> b) const {
    const A max = larger(a.max, b.max), shift = shift_of(max);
    return {max,
            a.sum * exp(a.max - shift) + b.sum * exp(b.max - shift)};  // not fused: a and b change places between two lanes
  }
};

template <typename A>
__device__ MaxAndSum<A> from_lane(MaxAndSum<A> v, int distance) {
  return {from_lane(v.max, distance), from_lane(v.sum, distance)};
}

/// Of x[0 … n−1], for every thread of the team.
template <int W, typename T>
__device__ MaxAndSum<Accumulator<T>> max_and_sum(const T* x, int64_t n, bool aligned) {
  using A = Accumulator<T>;
  MaxAndSum<A> mine = {-kInfinity<A>, A(0)};
  for_each_pack<W>(n, [&](int64_t i) {
    const Pack<T, W> values = load_pack<W>(x + i, aligned);
    A max = wide(values.v[0]);
    for (int k = 1; k < W; ++k) {
      max = larger(max, wide(values.v[k]));
    }
    const A shift = shift_of(larger(mine.max, max));
    A sum = mine.sum * exp(mine.max - shift);
    for (int k = 0; k < W; ++k) {
      sum += exp(wide(values.v[k]) - shift);
    }
    mine = {larger(mine.max, max), sum};
  });
  return join_team(mine, JoinMaxAndSum{});
}

}  // namespace ringlet::kernels::cuda
