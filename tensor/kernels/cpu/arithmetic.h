// y = a ∘ b, elementwise, for the four operations. A number is an operand whose steps are all 0.
#pragma once

#include <cstdint>

#include "tensor/kernels/cpu/runs.h"

namespace ringlet::kernels {

enum class Arithmetic : uint8_t { Add, Subtract, Multiply, Divide };

template <typename T>
void arithmetic(Arithmetic op, const Runs& runs, T* y, const T* a, const T* b);

/// y = y ∘ b. The steps `a` of `runs` are those of y.
template <typename T>
void arithmetic_into(Arithmetic op, const Runs& runs, T* y, const T* b);

}  // namespace ringlet::kernels
