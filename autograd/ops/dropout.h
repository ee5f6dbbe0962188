// Dropout (Srivastava et al., 2014) by a counter-based mask: nothing is saved, the mask is computed anew in backward.
#pragma once

#include "autograd/variable.h"
#include "tensor/base/random.h"

namespace ringlet {

/// y_i = x_i / (1 − p) where number `first + i` of the stream is at least p, else 0.  0 ≤ p < 1; p = 0 is `x` itself.
Var dropout(const Var& x, double p, const RandomStream& stream, uint64_t first = 0);

}  // namespace ringlet
