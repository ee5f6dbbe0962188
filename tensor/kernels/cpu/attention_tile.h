// What attention does with the scores of sixteen queries at a time. A tile is [n keys, 16 queries]: the queries fill a register, so
// that maxima and sums over keys need no step across it, and no loop has a tail.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/kernels/cpu/math.h"
#include "tensor/kernels/cpu/summation.h"

namespace ringlet::kernels {

inline constexpr int64_t kQueries = 16;

/// One number per query.
template <typename T>
struct Queries {
  T v[kQueries];
  friend Queries operator+(const Queries& a, const Queries& b) {
    Queries sum;
    for (int64_t r = 0; r < kQueries; ++r) {
      sum.v[r] = a.v[r] + b.v[r];
    }
    return sum;
  }
};

/// Σ_j f(16·j + r) for every query r: keys in blocks of 64, blocks pairwise. Zeros at the end change no bit of it.
template <typename T, typename F>
Queries<T> sum_keys(int64_t n, F&& f) {
  PairwiseSum<Queries<T>> sum;
  for (int64_t begin = 0; begin < n; begin += kRowBlock) {
    Queries<T> part = {};
    for (int64_t j = begin; j < std::min(n, begin + kRowBlock); ++j) {
      for (int64_t r = 0; r < kQueries; ++r) {
        part.v[r] += f(j * kQueries + r);
      }
    }
    sum.push(part);
  }
  return sum.total();
}

/// s = score·scale where query r sees key j (j < seen[r]), else −∞; the largest per query is returned.
template <typename T>
Queries<T> mask_and_scale(T* s, const Queries<int32_t>& seen, int64_t n, T scale) {
  constexpr T kMasked = -static_cast<T>(__builtin_inf());
  Queries<T> largest;
  std::fill_n(largest.v, kQueries, kMasked);
  for (int64_t j = 0; j < n; ++j) {
    const int32_t key = static_cast<int32_t>(j);
    T* row = s + j * kQueries;
#pragma GCC unroll 1  // summation.h says why
    for (int64_t r = 0; r < kQueries; ++r) {
      row[r] = key < seen.v[r] ? row[r] * scale : kMasked;
      largest.v[r] = larger(largest.v[r], row[r]);
    }
  }
  return largest;
}

/// From scores to probabilities in place; log_sum[r] = log Σ_j exp(s_jr) of the first `rows` queries.
template <typename T>
void softmax_tile(T* s, const Queries<int32_t>& seen, int64_t n, T scale, double* log_sum, int64_t rows) {
  Queries<T> shift = mask_and_scale(s, seen, n, scale), inverse, logarithm;
  for (T& largest : shift.v) {
    largest = largest == -static_cast<T>(__builtin_inf()) ? T(0) : largest;
  }
  for (int64_t j = 0; j < n; ++j) {
#pragma GCC unroll 1
    for (int64_t r = 0; r < kQueries; ++r) {
      s[j * kQueries + r] = exp(s[j * kQueries + r] - shift.v[r]);
    }
  }
  const Queries<T> total = sum_keys<T>(n, [=](int64_t i) { return s[i]; });
  for (int64_t r = 0; r < kQueries; ++r) {
    logarithm.v[r] = log(total.v[r]);
    inverse.v[r] = total.v[r] == T(0) ? T(0) : T(1) / total.v[r];
  }
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t r = 0; r < kQueries; ++r) {
      s[j * kQueries + r] *= inverse.v[r];
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    log_sum[r] = static_cast<double>(shift.v[r]) + static_cast<double>(logarithm.v[r]);
  }
}

/// The same probabilities again, from log Σ exp in two pieces (cross_entropy.cpp says why).
template <typename T>
void probabilities_tile(T* s, const Queries<int32_t>& seen, int64_t n, T scale, const double* log_sum, int64_t rows) {
  Queries<T> high = {}, low = {};
  for (int64_t r = 0; r < rows; ++r) {
    high.v[r] = static_cast<T>(log_sum[r]);
    low.v[r] = static_cast<T>(log_sum[r] - static_cast<double>(high.v[r]));
  }
  for (int64_t j = 0; j < n; ++j) {
    const int32_t key = static_cast<int32_t>(j);
    T* row = s + j * kQueries;
#pragma GCC unroll 1
    for (int64_t r = 0; r < kQueries; ++r) {
      const T p = exp((row[r] * scale - high.v[r]) - low.v[r]);
      row[r] = key < seen.v[r] ? p : T(0);
    }
  }
}

/// ds = p·(dp − Σ_j dp·p)·scale, in place of dp.
template <typename T>
void scores_gradient_tile(const T* p, T* __restrict dp, const Queries<int32_t>& seen, int64_t n, T scale) {
  for (int64_t j = 0; j < n; ++j) {
    const int32_t key = static_cast<int32_t>(j);
#pragma GCC unroll 1
    for (int64_t r = 0; r < kQueries; ++r) {
      dp[j * kQueries + r] = key < seen.v[r] ? dp[j * kQueries + r] : T(0);
    }
  }
  const Queries<T> dot = sum_keys<T>(n, [=](int64_t i) { return dp[i] * p[i]; });
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t r = 0; r < kQueries; ++r) {
      dp[j * kQueries + r] = p[j * kQueries + r] * (dp[j * kQueries + r] - dot.v[r]) * scale;
    }
  }
}

}  // namespace ringlet::kernels
