// What a reduction does with the P inputs of one element.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/base/dtype.h"

namespace ringlet {

/// Sum    x0 + x1 + … in order T (reduce.h); integers wrap modulo 2^n
/// Avg    the sum, divided once by P; not for integers
/// Min, Max   NaN if any input is NaN; −0 is smaller than 0
/// Prod   in order T; integers wrap
/// PreMulSum  f·x0 + f·x1 + … with one factor f, each product rounded before the sum; not for integers
/// bf16 is reduced in fp32 and rounded once.
enum class ReduceOp : uint8_t { Sum, Avg, Min, Max, Prod, PreMulSum };

/// "sum", "avg", "min", "max", "prod", "pre_mul_sum".
std::string_view name_of(ReduceOp op);
inline std::string to_text(ReduceOp op) { return std::string(name_of(op)); }

/// Every pair except the average and the pre-scaled sum of integers.
constexpr bool supports(ReduceOp op, DType dtype) {
  return (op != ReduceOp::Avg && op != ReduceOp::PreMulSum) || is_floating(dtype);
}

/// An op, and what one of them needs besides. All ranks pass the same factor.
struct Reduction {
  ReduceOp op = ReduceOp::Sum;
  float factor = 1;  // of PreMulSum; finite

  constexpr Reduction(ReduceOp what = ReduceOp::Sum) : op(what) {}  // NOLINT(google-explicit-constructor): most are just an op
  constexpr Reduction(ReduceOp what, float scale) : op(what), factor(scale) {}
  friend bool operator==(const Reduction&, const Reduction&) = default;
};
/// The sum of f·x over ranks.
constexpr Reduction pre_mul_sum(float f) { return {ReduceOp::PreMulSum, f}; }
/// "max", "pre_mul_sum 0.25".
std::string to_text(const Reduction& reduction);

}  // namespace ringlet
