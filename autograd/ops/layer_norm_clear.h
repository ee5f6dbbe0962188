// LayerNorm, spelled with means.
#pragma once

#include "autograd/variable.h"

namespace ringlet {

/// The same function of the same arguments as `layer_norm`, to rounding.
Var layer_norm_clear(const Var& x, const Var& gamma, const Var& beta, double eps);

}  // namespace ringlet
