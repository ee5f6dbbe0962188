// Dropout (Srivastava et al., 2014) by a counter-based mask: the same elements are dropped when it is recomputed.
#pragma once

#include "tensor/base/random.h"
#include "tensor/tensor.h"

namespace ringlet {

/// y_i = x_i / (1 − p) where number `first + i` of the stream is at least p, else 0, for 0 ≤ p < 1. The same function of dy is
/// its backward. Without dropout (p = 0) no number is drawn, and the result is a copy of x.
Tensor dropout(const Tensor& x, double p, const RandomStream& stream, uint64_t first = 0);

}  // namespace ringlet
