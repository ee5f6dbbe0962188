#include "tensor/kernels/cuda/softmax.h"

#include "tensor/kernels/cuda/max_and_sum.cuh"

namespace ringlet::kernels::cuda {
namespace {

// p_j = exp(x_j − m) / Σ_k exp(x_k − m), m = max x. A row without a number above −inf gives zeros.
//
// A team to a row (team.cuh). x comes from memory once; the second reading finds it in the caches: rows of 40,000 fp32, two on
// each of 132 multiprocessors, take 42 MB of the 50 that the L2 of an H200 has.
template <int W, typename T>
__global__ __launch_bounds__(1024) void softmax_kernel(const T* __restrict__ x, T* __restrict__ p, int64_t rows, int64_t n,
                                                       bool aligned) {
  using A = Accumulator<T>;
  const int64_t r = team_row();
  if (r >= rows) {
    return;
  }
  const auto [max, sum] = max_and_sum<W>(x + r * n, n, aligned);
  const A shift = shift_of(max), divisor = sum == A(0) ? A(1) : sum;
  for_each_pack<W>(n, [&](int64_t j) {
    const Pack<T, W> in = load_pack<W>(x + r * n + j, aligned);
    store_pack(p + r * n + j, pack_of<T, W>([&](int k) { return exp(wide(in.v[k]) - shift) / divisor; }), aligned);
  });
}

// dx = p·(dp − Σ_k dp_k·p_k), a team to a row.
template <int W, typename T>
__global__ __launch_bounds__(1024) void softmax_backward_kernel(const T* p, const T* dp, T* __restrict__ dx, int64_t rows,
                                                                int64_t n, bool aligned) {
  using A = Accumulator<T>;
  const int64_t r = team_row();
  if (r >= rows) {
    return;
  }
  const T *p_row = p + r * n, *dp_row = dp + r * n;
  const A dot = sum_row<W, A>(n, [&](int64_t j) {
    const Pack<T, W> probability = load_pack<W>(p_row + j, aligned), gradient = load_pack<W>(dp_row + j, aligned);
    return pack_of<A, W>([&](int k) { return wide(gradient.v[k]) * wide(probability.v[k]); });
  });
  for_each_pack<W>(n, [&](int64_t j) {
    const Pack<T, W> probability = load_pack<W>(p_row + j, aligned), gradient = load_pack<W>(dp_row + j, aligned);
    const auto dx_of = [&](int k) { return wide(probability.v[k]) * (wide(gradient.v[k]) - dot); };
    store_pack(dx + r * n + j, pack_of<T, W>(dx_of), aligned);
  });
}

}  // namespace

template <typename T>
void softmax(const T* x, T* p, int64_t rows, int64_t n) {
  const dim3 block = team_block(n);
  with_width<T>(n, [&]<int W>() {
    launch(softmax_kernel<W, T>, team_grid(rows, block), block, 0, x, p, rows, n, is_aligned<W>(x) && is_aligned<W>(p));
  });
}

template <typename T>
void softmax_backward(const T* p, const T* dp, T* dx, int64_t rows, int64_t n) {
  const dim3 block = team_block(n);
  with_width<T>(n, [&]<int W>() {
    launch(softmax_backward_kernel<W, T>, team_grid(rows, block), block, 0, p, dp, dx, rows, n,
           is_aligned<W>(p) && is_aligned<W>(dp) && is_aligned<W>(dx));
  });
}

#define RINGLET_INSTANTIATE(T)                           \
  template void softmax(const T*, T*, int64_t, int64_t); \
  template void softmax_backward(const T*, const T*, T*, int64_t, int64_t);
RINGLET_INSTANTIATE(float)
RINGLET_INSTANTIATE(double)
RINGLET_INSTANTIATE(bf16)

}  // namespace ringlet::kernels::cuda
