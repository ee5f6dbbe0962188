// What attention does with one row of scores. Rows are padded to whole lanes, so that no loop has a tail; a padded entry counts as
// a key that is not seen, and adding its zero to a sum changes nothing.
#pragma once

#include <cstdint>

#include "tensor/kernels/cpu/math.h"
#include "tensor/kernels/cpu/summation.h"

namespace ringlet::kernels {

inline int64_t whole_lanes(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// From scores to probabilities in place; log Σ exp is returned. What row i does not see counts as −∞.
template <typename T>
double softmax_row(T* s, int64_t seen, int64_t width, T scale) {
  constexpr T kMasked = -static_cast<T>(__builtin_inf());
  for (int64_t j = 0; j < width; ++j) {
    s[j] = j < seen ? s[j] * scale : kMasked;
  }
  const T largest = max_lanes(s, width);
  const T shift = largest == kMasked ? T(0) : largest;
  for (int64_t j = 0; j < width; ++j) {
    s[j] = exp(s[j] - shift);
  }
  const T total = sum_lanes<T>(width, [=](int64_t j) { return s[j]; });
  const T divisor = total == T(0) ? T(1) : total;
  for (int64_t j = 0; j < width; ++j) {
    s[j] = s[j] / divisor;
  }
  return static_cast<double>(shift) + static_cast<double>(log(total));
}

// The same probabilities again, from log Σ exp in two pieces (cross_entropy.cpp says why).
template <typename T>
void probabilities_row(T* s, int64_t seen, int64_t width, T scale, double log_sum) {
  const T high = static_cast<T>(log_sum), low = static_cast<T>(log_sum - static_cast<double>(high));
  for (int64_t j = 0; j < width; ++j) {
    const T p = exp((s[j] * scale - high) - low);
    s[j] = j < seen ? p : T(0);
  }
}

// ds = p·(dp − Σ_j dp·p)·scale, in place of dp.
template <typename T>
void scores_gradient_row(const T* p, T* dp, int64_t seen, int64_t width, T scale) {
  for (int64_t j = 0; j < width; ++j) {
    dp[j] = j < seen ? dp[j] : T(0);
  }
  const T dot = sum_lanes<T>(width, [=](int64_t j) { return dp[j] * p[j]; });
  for (int64_t j = 0; j < width; ++j) {
    dp[j] = p[j] * (dp[j] - dot) * scale;
  }
}

template <typename T>
void multiply_row(const T* a, const T* b, T* y, int64_t width) {
  for (int64_t j = 0; j < width; ++j) {
    y[j] = a[j] * b[j];
  }
}

}  // namespace ringlet::kernels
