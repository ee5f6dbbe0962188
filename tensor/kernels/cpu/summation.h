// The one order in which numbers are summed. It is a function of how many there are and of nothing else: element i of a block
// goes to running sum i mod 16, the 16 are joined as a balanced tree, and blocks are joined pairwise: T(1) = x₀,
// T(n) = T(first 2^k) + T(rest), 2^k the largest power of two below n. The error grows with 64 + log2(n / 1024), not with n.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace ringlet::kernels {

inline constexpr int64_t kLanes = 16;
inline constexpr int64_t kSumBlock = 1024;  // a power of two: 64 additions per lane

// [snippet: pairwise_sum]
/// Joins partial sums pairwise as they arrive: a binary counter, whose digit k holds a sum of 2^k parts.
template <typename T>
class PairwiseSum {
 public:
  void push(T part) {
    const int level = std::countr_one(count_);  // as many carries as the counter has trailing ones
    for (int k = 0; k < level; ++k) {
      part = digits_[k] + part;
    }
    digits_[level] = part;
    ++count_;
  }
  T total() const {
    T sum{};
    bool first = true;
    for (int k = 0; k < 64; ++k) {
      if ((count_ >> k & 1U) != 0) {
        sum = first ? digits_[k] : digits_[k] + sum;
        first = false;
      }
    }
    return sum;
  }

 private:
  T digits_[64];
  uint64_t count_ = 0;
};
// [/snippet]

template <typename T>
T join_lanes(const T (&lane)[kLanes]) {
  T tree[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) {
    tree[i] = lane[i];
  }
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) {
      tree[i] = tree[i] + tree[i + half];
    }
  }
  return tree[0];
}

/// Σ_i f(i) for begin ≤ i < end, at most one block.
template <typename T, typename F>
T sum_block(int64_t begin, int64_t end, F&& f) {
  T lane[kLanes] = {};
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) {
      lane[l] += f(i + l);
    }
  }
  for (int64_t l = 0; i + l < end; ++l) {
    lane[l] += f(i + l);
  }
  return join_lanes(lane);
}

/// Σ_i f(i) for 0 ≤ i < n.
template <typename T, typename F>
T sum_lanes(int64_t n, F&& f) {
  if (n <= kSumBlock) {
    return sum_block<T>(0, n, f);
  }
  PairwiseSum<T> sum;
  for (int64_t begin = 0; begin < n; begin += kSumBlock) {
    sum.push(sum_block<T>(begin, begin + kSumBlock < n ? begin + kSumBlock : n, f));
  }
  return sum.total();
}

// The sum over rows of a matrix, for every column: rows in blocks of 64 top to bottom, blocks pairwise. 64 columns at a time.
inline constexpr int64_t kRowBlock = 64;
template <typename T>
struct ColumnTile {
  static constexpr int64_t kColumns = 64;
  T v[kColumns];
  friend ColumnTile operator+(const ColumnTile& a, const ColumnTile& b) {
    ColumnTile sum;
    for (int64_t c = 0; c < kColumns; ++c) {
      sum.v[c] = a.v[c] + b.v[c];
    }
    return sum;
  }
};

/// y_c = Σ_r f(r, c) for 0 ≤ r < rows and first ≤ c < last, at most one tile of columns.
template <typename T, typename F>
void sum_columns(int64_t rows, int64_t first, int64_t last, T* y, F&& f) {
  PairwiseSum<ColumnTile<T>> sum;
  for (int64_t begin = 0; begin < rows; begin += kRowBlock) {
    ColumnTile<T> part = {};
    for (int64_t r = begin; r < std::min(rows, begin + kRowBlock); ++r) {
      for (int64_t c = first; c < last; ++c) {
        part.v[c - first] += f(r, c);
      }
    }
    sum.push(part);
  }
  const ColumnTile<T> total = sum.total();
  for (int64_t c = first; c < last; ++c) {
    y[c] = total.v[c - first];
  }
}

/// The larger one, or the NaN if there is one.
template <typename T>
T larger(T a, T b) {
  const T larger_or_a = a < b ? b : a;  // a where either is NaN
  return b != b ? b : larger_or_a;
}

/// The largest of x_0 … x_{n−1}, −inf when there are none, NaN when there is a NaN.
template <typename T>
T max_lanes(const T* x, int64_t n) {
  constexpr T kLowest = -static_cast<T>(__builtin_inf());
  T lane[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) {
    lane[l] = kLowest;
  }
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma GCC unroll 1  // or GCC unrolls the lanes before it looks for vectors, and then finds none
    for (int64_t l = 0; l < kLanes; ++l) {
      lane[l] = larger(lane[l], x[i + l]);
    }
  }
  for (int64_t l = 0; i + l < n; ++l) {
    lane[l] = larger(lane[l], x[i + l]);
  }
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t l = 0; l < half; ++l) {
      lane[l] = larger(lane[l], lane[l + half]);
    }
  }
  return lane[0];
}

}  // namespace ringlet::kernels
