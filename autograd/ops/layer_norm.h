// LayerNorm over the last dim (Ba, Kiros & Hinton, 2016), fused. Saves x and two numbers per row.
#pragma once

#include "autograd/variable.h"

namespace ringlet {

/// y = x̂·γ + β,  x̂ = (x − μ)·ρ,  ρ = 1/√(σ² + ε).   x: [..., C]   γ: [C]   β: [C], or undefined for none.
Var layer_norm(const Var& x, const Var& gamma, const Var& beta, double eps);

}  // namespace ringlet
