// What a reduction does with the P inputs of one element.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/base/dtype.h"

namespace ringlet {

/// Sum    x0 + x1 + … in order T (reduce.h); integers wrap modulo 2^n
/// Avg    the sum, divided once by P; not for integers
/// Min, Max   NaN if any input is NaN
/// Prod   in order T; integers wrap
/// bf16 is reduced in fp32 and rounded once.
enum class ReduceOp : uint8_t { Sum, Avg, Min, Max, Prod };

/// "sum", "avg", "min", "max", "prod".
std::string_view name_of(ReduceOp op);
inline std::string to_text(ReduceOp op) { return std::string(name_of(op)); }

/// Every pair except the average of integers.
constexpr bool supports(ReduceOp op, DType dtype) { return op != ReduceOp::Avg || is_floating(dtype); }

}  // namespace ringlet
