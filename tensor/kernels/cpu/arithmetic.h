// y = a ∘ b, elementwise, for the four operations, with a tensor or with a number.
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

/// y = a ∘ c and y = y ∘ c for a number c. The steps `b` of `runs` are 0.
template <typename T>
void arithmetic_number(Arithmetic op, const Runs& runs, T* y, const T* a, T c);
template <typename T>
void arithmetic_number_into(Arithmetic op, const Runs& runs, T* y, T c);

}  // namespace ringlet::kernels
