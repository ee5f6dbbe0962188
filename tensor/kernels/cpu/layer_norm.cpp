#include "tensor/kernels/cpu/layer_norm.h"

#include <cmath>

#include "tensor/kernels/cpu/parallel.h"
#include "tensor/kernels/cpu/summation.h"

namespace ringlet::kernels {
namespace {

template <typename T>
struct Moments {
  T mean, rstd;
};

template <typename T>
Moments<T> moments(const T* x, T eps, int64_t C) {
  const T mean = sum_lanes<T>(C, [=](int64_t c) { return x[c]; }) / static_cast<T>(C);
  const T variance = sum_lanes<T>(C, [=](int64_t c) { return (x[c] - mean) * (x[c] - mean); }) / static_cast<T>(C);
  return {mean, T(1) / std::sqrt(variance + eps)};
}

template <typename T>
void backward_row(const T* dy, const T* x, const T* gamma, T mean, T rstd, T* __restrict dx, int64_t C) {
  const T mean_g = sum_lanes<T>(C, [=](int64_t c) { return dy[c] * gamma[c]; }) / static_cast<T>(C);
  const T mean_gx = sum_lanes<T>(C, [=](int64_t c) { return dy[c] * gamma[c] * ((x[c] - mean) * rstd); }) / static_cast<T>(C);
  for (int64_t c = 0; c < C; ++c) {
    const T xhat = (x[c] - mean) * rstd;
    dx[c] = rstd * (dy[c] * gamma[c] - mean_g - xhat * mean_gx);
  }
}

}  // namespace

template <typename T>
void layer_norm(const T* x, const T* gamma, const T* beta, double eps, T* y, Accumulator<T>* mean, Accumulator<T>* rstd,
                int64_t rows, int64_t C) {
  parallel_ranges(rows, 4 * C, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* in = x + r * C;
      T* __restrict out = y + r * C;
      const auto [mu, rho] = moments(in, static_cast<T>(eps), C);
      mean[r] = mu;
      rstd[r] = rho;
      if (beta == nullptr) {
        for (int64_t c = 0; c < C; ++c) {
          out[c] = (in[c] - mu) * rho * gamma[c];
        }
      } else {
        for (int64_t c = 0; c < C; ++c) {
          out[c] = (in[c] - mu) * rho * gamma[c] + beta[c];
        }
      }
    }
  });
}

template <typename T>
void layer_norm_backward(const T* dy, const T* x, const T* gamma, const Accumulator<T>* mean, const Accumulator<T>* rstd, T* dx,
                         int64_t rows, int64_t C) {
  parallel_ranges(rows, 8 * C, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      backward_row(dy + r * C, x + r * C, gamma, mean[r], rstd[r], dx + r * C, C);
    }
  });
}

template <typename T>
void layer_norm_backward_weights(const T* dy, const T* x, const Accumulator<T>* mean, const Accumulator<T>* rstd, T* dgamma,
                                 T* dbeta, int64_t rows, int64_t C) {
  constexpr int64_t kColumns = ColumnTile<T>::kColumns;
  parallel_for((C + kColumns - 1) / kColumns, 4 * rows * kColumns, [=](int64_t tile) {
    const int64_t first = tile * kColumns, last = std::min(C, first + kColumns);
    sum_columns(rows, first, last, dgamma,
                [=](int64_t r, int64_t c) { return dy[r * C + c] * ((x[r * C + c] - mean[r]) * rstd[r]); });
    sum_columns(rows, first, last, dbeta, [=](int64_t r, int64_t c) { return dy[r * C + c]; });
  });
}

template void layer_norm(const float*, const float*, const float*, double, float*, float*, float*, int64_t, int64_t);
template void layer_norm(const double*, const double*, const double*, double, double*, double*, double*, int64_t, int64_t);
template void layer_norm_backward(const float*, const float*, const float*, const float*, const float*, float*, int64_t,
                                  int64_t);
template void layer_norm_backward(const double*, const double*, const double*, const double*, const double*, double*, int64_t,
                                  int64_t);
template void layer_norm_backward_weights(const float*, const float*, const float*, const float*, float*, float*, int64_t,
                                          int64_t);
template void layer_norm_backward_weights(const double*, const double*, const double*, const double*, double*, double*, int64_t,
                                          int64_t);

}  // namespace ringlet::kernels
