// y = f(x), elementwise, for functions of one number.
#pragma once

#include <cstdint>

#include "tensor/kernels/cpu/runs.h"

namespace ringlet::kernels {

enum class Function : uint8_t { Negate, Exp, Log, Sqrt, Rsqrt, Square, Tanh, Erf, Sigmoid, Relu, Step };

/// The steps `a` of `runs` are those of x; `b` is not looked at.
template <typename T>
void elementwise(Function function, const Runs& runs, T* y, const T* x);

}  // namespace ringlet::kernels
