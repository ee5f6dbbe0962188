// Inputs of attention, its CPU twin in fp64 on them, and bounds on the rounding errors of any other way to compute it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tensor/base/bf16.h"
#include "tensor/kernels/cpu/attention.h"
#include "test/tensor/values.h"

namespace ringlet::test {

struct AttentionCase {
  kernels::AttentionSizes sizes;
  bool padding;
  double p;

  int64_t rows() const { return sizes.B * sizes.T; }
  int64_t channels() const { return sizes.H * sizes.D; }
  kernels::AttentionDrop drop(const RandomStream& stream) const { return {p, &stream}; }
  /// The first sequence begins with two rows that see nothing; the others have gaps.
  std::vector<uint8_t> padded() const {
    std::vector<uint8_t> mask(static_cast<size_t>(rows()));
    for (int64_t b = 0; padding && b < sizes.B; ++b) {
      for (int64_t j = 0; j < sizes.T; ++j) {
        mask[static_cast<size_t>(b * sizes.T + j)] = b == 0 ? j < 2 : j % 5 == 1 || j % 7 == 0;
      }
    }
    return mask;
  }
};
inline std::string to_text(const AttentionCase& c) {
  return message("B {} T {} H {} D {} padding {} p {}", c.sizes.B, c.sizes.T, c.sizes.H, c.sizes.D, c.padding ? 1 : 0, c.p);
}

template <typename T>
std::vector<double> widened(const std::vector<T>& x) {
  std::vector<double> y;
  for (const T value : x) {
    y.push_back(static_cast<double>(value));
  }
  return y;
}

template <typename T>
struct AttentionInputs {
  explicit AttentionInputs(const AttentionCase& c) {
    for (const double x : normals<double>(c.rows() * 3 * c.channels(), "qkv")) {
      qkv.push_back(T(static_cast<float>(x)));
    }
    for (const double x : normals<double>(c.rows() * c.channels(), "dy")) {
      dy.push_back(T(static_cast<float>(x)));
    }
  }
  std::vector<T> qkv, dy;
};

/// What attention and its gradient should be, and how far each number may be from it.
struct AttentionAnswer {
  std::vector<int32_t> seen, kept;
  std::vector<double> y, log_sum, dqkv;
  std::vector<double> y_bound, log_sum_bound, dqkv_bound;
};

/// `u`: roundoff of all arithmetic; `weights`: of the probabilities and their gradients where they are stored rounded, else 0;
/// `stored`: of the results.
struct AttentionRoundoff {
  double u, weights, stored;
};

AttentionAnswer answer_of(const AttentionCase& c, const std::vector<double>& qkv, const std::vector<double>& dy,
                          const AttentionRoundoff& roundoff);

}  // namespace ringlet::test
