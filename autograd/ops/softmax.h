// Softmax over the last dim.
#pragma once

#include "autograd/variable.h"

namespace ringlet {

/// p_j = exp(x_j − max) / Σ_k exp(x_k − max). A row that is −inf throughout gives zeros, and zero gradients.
Var softmax(const Var& x);

}  // namespace ringlet
