// Products.
#pragma once

#include "autograd/variable.h"

namespace ringlet {

/// C = A·B over the last two dims: [M, K] x [K, N] -> [M, N], or with the same leading dims before each.
Var matmul(const Var& a, const Var& b);

}  // namespace ringlet
