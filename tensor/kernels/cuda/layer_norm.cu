#include "tensor/kernels/cuda/layer_norm.h"

#include "tensor/kernels/cuda/column_reduce.cuh"
#include "tensor/kernels/cuda/team.cuh"

namespace ringlet::kernels::cuda {
namespace {

// y = (x − μ)·ρ·γ + β,  μ = mean_C(x),  ρ = 1/√(mean_C((x − μ)²) + ε).
//
// A team to a row (team.cuh), which it reads three times: from memory once, then from the L1 cache, where 8 rows of 768 take
// 24 KB. An element is read and written once; γ and β stay in the caches.
template <int W, typename T>
__global__ __launch_bounds__(1024) void layer_norm_kernel(const T* x, const T* gamma, const T* beta, Accumulator<T> eps, T* y,
                                                          Accumulator<T>* mean, Accumulator<T>* rstd, int64_t rows, int64_t C,
                                                          bool aligned) {
  using A = Accumulator<T>;
  const int64_t r = team_row();
  if (r >= rows) {
    return;
  }
  const T* row = x + r * C;
  const A mu = mean_row<W, A>(C, [&](int64_t c) {
    const Pack<T, W> in = load_pack<W>(row + c, aligned);
    return pack_of<A, W>([&](int k) { return wide(in.v[k]); });
  });
  const A variance = mean_row<W, A>(C, [&](int64_t c) {
    const Pack<T, W> in = load_pack<W>(row + c, aligned);
    return pack_of<A, W>([&](int k) { return (wide(in.v[k]) - mu) * (wide(in.v[k]) - mu); });
  });
  const A rho = A(1) / sqrt(variance + eps);
  if (threadIdx.x == 0) {
    mean[r] = mu;
    rstd[r] = rho;
  }
  for_each_pack<W>(C, [&](int64_t c) {
    const Pack<T, W> in = load_pack<W>(row + c, aligned), scale = load_pack<W>(gamma + c, aligned);
    const Pack<T, W> shift = beta == nullptr ? Pack<T, W>{} : load_pack<W>(beta + c, aligned);
    const auto y_of = [&](int k) {
      const A scaled = (wide(in.v[k]) - mu) * rho * wide(scale.v[k]);
      return beta == nullptr ? scaled : scaled + wide(shift.v[k]);
    };
    store_pack(y + r * C + c, pack_of<T, W>(y_of), aligned);
  });
}

// dx = ρ·(g − mean_C(g) − x̂·mean_C(g·x̂)),  g = dy·γ,  x̂ = (x − μ)·ρ. A team to a row, which it reads three times, once from
// memory.
template <int W, typename T>
struct BackwardPack {
  using A = Accumulator<T>;
  Pack<T, W> dy, x, gamma;
  A mu, rho;
  __device__ A g(int k) const { return wide(dy.v[k]) * wide(gamma.v[k]); }
  __device__ A xhat(int k) const { return (wide(x.v[k]) - mu) * rho; }
};

template <int W, typename T>
__global__ __launch_bounds__(1024) void layer_norm_backward_kernel(const T* dy, const T* x, const T* gamma,
                                                                   const Accumulator<T>* mean, const Accumulator<T>* rstd,
                                                                   T* dx, int64_t rows, int64_t C, bool aligned) {
  using A = Accumulator<T>;
  const int64_t r = team_row();
  if (r >= rows) {
    return;
  }
  const A mu = mean[r], rho = rstd[r];
  const auto at = [&](int64_t c) {
    return BackwardPack<W, T>{load_pack<W>(dy + r * C + c, aligned), load_pack<W>(x + r * C + c, aligned),
                              load_pack<W>(gamma + c, aligned), mu, rho};
  };
  const A mean_g = mean_row<W, A>(C, [&](int64_t c) {
    const auto pack = at(c);
    return pack_of<A, W>([&](int k) { return pack.g(k); });
  });
  const A mean_gx = mean_row<W, A>(C, [&](int64_t c) {
    const auto pack = at(c);
    return pack_of<A, W>([&](int k) { return pack.g(k) * pack.xhat(k); });
  });
  for_each_pack<W>(C, [&](int64_t c) {
    const auto pack = at(c);
    const auto dx_of = [&](int k) { return rho * (pack.g(k) - mean_g - pack.xhat(k) * mean_gx); };
    store_pack(dx + r * C + c, pack_of<T, W>(dx_of), aligned);
  });
}

// dγ = Σ_rows dy·x̂ and dβ = Σ_rows dy together, in the order of column_reduce.cuh: dy and x are read once.
template <typename A>
struct WeightGrads {
  A gamma, beta;
};

template <typename A>
struct AddWeightGrads {
  using Value = WeightGrads<A>;
  __device__ static Value identity() { return {A(0), A(0)}; }
  __device__ Value operator()(Value a, Value b) const { return {a.gamma + b.gamma, a.beta + b.beta}; }
};

template <typename T>
struct WeightTerms {
  const T *dy, *x;
  const Accumulator<T>* mean;
  const Accumulator<T>* rstd;
  int64_t C;
  __device__ WeightGrads<Accumulator<T>> operator()(int64_t, int64_t r, int64_t c) const {
    const Accumulator<T> gradient = wide(dy[r * C + c]);
    return {gradient * ((wide(x[r * C + c]) - mean[r]) * rstd[r]), gradient};
  }
};

template <typename T>
struct StoreWeightGrads {
  T *dgamma, *dbeta;
  __device__ void operator()(int64_t c, WeightGrads<Accumulator<T>> total) const {
    dgamma[c] = static_cast<T>(total.gamma);
    dbeta[c] = static_cast<T>(total.beta);
  }
};

}  // namespace

template <typename T>
void layer_norm(const T* x, const T* gamma, const T* beta, double eps, T* y, Accumulator<T>* mean, Accumulator<T>* rstd,
                int64_t rows, int64_t C) {
  const dim3 block = team_block(C);
  with_width<T>(C, [&]<int W>() {
    const bool aligned = is_aligned<W>(x) && is_aligned<W>(gamma) && is_aligned<W>(beta) && is_aligned<W>(y);
    launch(layer_norm_kernel<W, T>, team_grid(rows, block), block, 0, x, gamma, beta, static_cast<Accumulator<T>>(eps), y, mean,
           rstd, rows, C, aligned);
  });
}

template <typename T>
void layer_norm_backward(const T* dy, const T* x, const T* gamma, const Accumulator<T>* mean, const Accumulator<T>* rstd, T* dx,
                         int64_t rows, int64_t C) {
  const dim3 block = team_block(C);
  with_width<T>(C, [&]<int W>() {
    const bool aligned = is_aligned<W>(dy) && is_aligned<W>(x) && is_aligned<W>(gamma) && is_aligned<W>(dx);
    launch(layer_norm_backward_kernel<W, T>, team_grid(rows, block), block, 0, dy, x, gamma, mean, rstd, dx, rows, C, aligned);
  });
}

template <typename T>
void layer_norm_backward_weights(const T* dy, const T* x, const Accumulator<T>* mean, const Accumulator<T>* rstd, T* dgamma,
                                 T* dbeta, int64_t rows, int64_t C) {
  reduce_columns(1, rows, C, WeightTerms<T>{dy, x, mean, rstd, C}, AddWeightGrads<Accumulator<T>>{},
                 StoreWeightGrads<T>{dgamma, dbeta});
}

#define RINGLET_INSTANTIATE(T)                                                                                                 \
  template void layer_norm(const T*, const T*, const T*, double, T*, Accumulator<T>*, Accumulator<T>*, int64_t, int64_t);      \
  template void layer_norm_backward(const T*, const T*, const T*, const Accumulator<T>*, const Accumulator<T>*, T*, int64_t,   \
                                    int64_t);                                                                                  \
  template void layer_norm_backward_weights(const T*, const T*, const Accumulator<T>*, const Accumulator<T>*, T*, T*, int64_t, \
                                            int64_t);
RINGLET_INSTANTIATE(float)
RINGLET_INSTANTIATE(double)
RINGLET_INSTANTIATE(bf16)

}  // namespace ringlet::kernels::cuda
