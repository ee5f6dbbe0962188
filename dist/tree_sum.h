// Order T, the one order of every float sum over micro-batches:
//   T(1) = x0      T(n) = T(first 2^k) + T(rest)      2^k the largest power of two below n
// It is what a binary counter does: partial sums of 2^a, 2^b, … terms wait on a stack (a > b > …), and a new term carries like
// adding one to the number of terms. At most 1 + ⌊log2 n⌋ sums are held at a time. The collectives sum over ranks in the same
// order (collectives/reduce.h), so k ranks and k micro-batches give the same bits where both are powers of two.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ringlet {

/// The stack's book-keeping alone, whatever the terms are: numbers, flat gradients.
class TreeOrder {
 public:
  /// Where the next term belongs: the number of partial sums that wait.
  int depth() const { return depth_; }
  int64_t terms() const { return static_cast<int64_t>(terms_); }

  /// A term now stands in stack[depth()]. `join(k)` must do stack[k] += stack[k + 1].
  template <typename Join>
  void push(Join&& join) {
    ++depth_;
    for (uint64_t n = ++terms_; n % 2 == 0; n /= 2) {
      --depth_;
      join(depth_ - 1);
    }
  }

  /// Joins all that wait into stack[0].
  template <typename Join>
  void fold(Join&& join) {
    while (depth_ > 1) {
      --depth_;
      join(depth_ - 1);
    }
  }

  void clear() { *this = {}; }

 private:
  int depth_ = 0;
  uint64_t terms_ = 0;
};

/// Σ of doubles in order T. The sum of no terms is 0.
class TreeSum {
 public:
  void add(double term) {
    stack_[static_cast<size_t>(order_.depth())] = term;
    order_.push([this](int k) { stack_[static_cast<size_t>(k)] += stack_[static_cast<size_t>(k) + 1]; });
  }
  double value() const {
    double sum = 0.0;
    for (int k = order_.depth() - 1; k >= 0; --k) {  // the short sums first: T(first 2^k) + T(rest)
      sum = k == order_.depth() - 1 ? stack_[static_cast<size_t>(k)] : stack_[static_cast<size_t>(k)] + sum;
    }
    return sum;
  }

 private:
  std::array<double, 64> stack_{};
  TreeOrder order_;
};

}  // namespace ringlet
