#include "tensor/kernels/cpu/softmax.h"

#include "tensor/kernels/cpu/math.h"
#include "tensor/kernels/cpu/parallel.h"
#include "tensor/kernels/cpu/summation.h"

namespace ringlet::kernels {
namespace {

constexpr int64_t kExpWork = 8;  // an exponential costs about as much as so many additions

template <typename T>
void softmax_row(const T* x, T* __restrict p, int64_t n) {
  const T largest = max_lanes(x, n);
  const T shift = largest == -static_cast<T>(__builtin_inf()) ? T(0) : largest;  // −inf − (−inf) would be NaN
  for (int64_t j = 0; j < n; ++j) {
    p[j] = exp(x[j] - shift);
  }
  const T total = sum_lanes<T>(n, [=](int64_t j) { return p[j]; });
  const T divisor = total == T(0) ? T(1) : total;
  for (int64_t j = 0; j < n; ++j) {
    p[j] = p[j] / divisor;
  }
}

template <typename T>
void softmax_backward_row(const T* p, const T* dp, T* __restrict dx, int64_t n) {
  const T dot = sum_lanes<T>(n, [=](int64_t k) { return dp[k] * p[k]; });
  for (int64_t j = 0; j < n; ++j) {
    dx[j] = p[j] * (dp[j] - dot);
  }
}

}  // namespace

template <typename T>
void softmax(const T* x, T* p, int64_t rows, int64_t n) {
  parallel_ranges(rows, kExpWork * n, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      softmax_row(x + r * n, p + r * n, n);
    }
  });
}

template <typename T>
void softmax_backward(const T* p, const T* dp, T* dx, int64_t rows, int64_t n) {
  parallel_ranges(rows, 2 * n, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      softmax_backward_row(p + r * n, dp + r * n, dx + r * n, n);
    }
  });
}

template void softmax(const float*, float*, int64_t, int64_t);
template void softmax(const double*, double*, int64_t, int64_t);
template void softmax_backward(const float*, const float*, float*, int64_t, int64_t);
template void softmax_backward(const double*, const double*, double*, int64_t, int64_t);

}  // namespace ringlet::kernels
