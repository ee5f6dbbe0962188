// What a kernel on the GPU may differ by from its twin on the CPU: so many roundings of so large a number, computed for each element.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tensor/base/dtype.h"
#include "test/support/catch.h"
#include "test/tensor/values.h"

namespace ringlet::test {

/// Half the distance from 1 to the next number: what one rounding of x may cost, in units of x.
template <typename T>
inline constexpr double kRounding = std::is_same_v<T, float>    ? 0x1p-24
                                    : std::is_same_v<T, double> ? 0x1p-53
                                                                : 0x1p-8;

/// The longest chain of additions in a sum of n numbers on the GPU (team.cuh, row_reduce.cuh) and on the CPU (summation.h).
inline double row_chain(int64_t n) {
  const double gpu = n <= 16384 ? std::min<double>(static_cast<double>(n), 40) : 80;
  return gpu + 68 + std::max(0.0, std::log2(static_cast<double>(n) / 1024));
}
/// The same for the sums over rows (column_reduce.cuh).
inline double column_chain(int64_t n) {
  const double levels = std::ceil(std::log2(static_cast<double>(n) + 1) / 8);
  return 36 * levels + 64 + std::max(0.0, std::log2(static_cast<double>(n) / 64));
}

/// Operands as the GPU holds them.
template <typename T>
std::vector<T> operands(int64_t n, const std::string& name) {
  std::vector<T> narrow;
  for (const double x : normals<double>(n, name)) narrow.push_back(static_cast<T>(x));
  return narrow;
}
/// The same numbers in the type in which the CPU's twin computes.
template <typename T>
std::vector<Accumulator<T>> widened(const std::vector<T>& values) {
  std::vector<Accumulator<T>> wide;
  for (const T& x : values) wide.push_back(static_cast<Accumulator<T>>(x));
  return wide;
}
template <typename T>
std::vector<T> narrowed(const std::vector<Accumulator<T>>& values) {
  std::vector<T> narrow;
  for (const Accumulator<T>& x : values) narrow.push_back(static_cast<T>(x));
  return narrow;
}

/// Checks |actual_i − expected_i| ≤ bound(i), plus a rounding to T of what was computed wider. A NaN must meet a NaN.
template <typename T, typename Bound>
void check_close(const std::vector<T>& actual, const std::vector<Accumulator<T>>& expected, Bound&& bound) {
  REQUIRE(actual.size() == expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    const double a = static_cast<double>(actual[i]), e = static_cast<double>(expected[i]);
    if (std::isnan(a) || std::isnan(e) || a == e) {
      if (a != e && !(std::isnan(a) && std::isnan(e))) FAIL_CHECK("element " << i << ": " << a << ", the CPU has " << e);
      continue;
    }
    const double wide = bound(i), narrow = std::is_same_v<T, bf16> ? kRounding<bf16> * (std::fabs(e) + wide) : 0.0;
    if (!(std::fabs(a - e) <= wide + narrow)) {
      FAIL_CHECK("element " << i << ": " << a << ", the CPU has " << e << ", off by " << std::fabs(a - e) << ", allowed "
                            << wide + narrow);
    }
  }
}

}  // namespace ringlet::test
