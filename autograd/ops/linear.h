// The affine map of a row.
#pragma once

#include "autograd/variable.h"

namespace ringlet {

/// y = x·W + b.   x: [..., K]   W: [K, N]   b: [N], or undefined for none   ->   [..., N].
Var linear(const Var& x, const Var& weight, const Var& bias = {});

/// y = x·Wᵀ.   x: [..., K]   W: [N, K]   ->   [..., N]. For a head that is tied to the embedding table.
Var linear_transposed(const Var& x, const Var& weight);

}  // namespace ringlet
