// LayerNorm over the last dim (Ba, Kiros & Hinton, 2016), in two passes: the mean first, then the mean of the squared
// differences, because E[x²] − E[x]² loses everything when the mean is large.
#pragma once

#include "tensor/tensor.h"

namespace ringlet {

/// y = x̂·γ + β,  x̂ = (x − μ)·ρ,  ρ = 1/√(σ² + ε).
struct LayerNormed {
  Tensor y;     // [..., C]
  Tensor mean;  // [rows]
  Tensor rstd;  // [rows]   ρ
};
/// x: [..., C]   γ: [C]   β: [C] or undefined (no bias).   ε > 0, for a constant row has σ² = 0; anything else is an `Error`.
LayerNormed layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps);

/// With g = dy·γ:  dx = ρ·(g − mean_C(g) − x̂·mean_C(g·x̂)),  dγ = Σ_rows dy·x̂,  dβ = Σ_rows dy.
struct LayerNormGrads {
  Tensor dx, dgamma, dbeta;  // [..., C]  [C]  [C]
};
LayerNormGrads layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gamma, const Tensor& mean,
                                   const Tensor& rstd);

}  // namespace ringlet
