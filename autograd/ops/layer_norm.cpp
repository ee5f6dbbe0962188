#include "autograd/ops/layer_norm.h"

#include "autograd/record.h"
#include "tensor/ops/layer_norm.h"

namespace ringlet {
namespace {

// [snippet: rule]
// y = x̂·γ + β      x̂ = (x − μ)·ρ      ρ = 1/√(σ² + ε)
// With g = dy·γ:   dx = ρ·(g − mean_C(g) − x̂·mean_C(g·x̂))      dγ = Σ_rows dy·x̂      dβ = Σ_rows dy
struct LayerNormRule {
  static constexpr std::string_view kName = "layer_norm";
  Saved x, gamma, mean, rstd;  // [..., C]  [C]  [rows]  [rows]

  Grads backward(const Tensor& dy) const {
    const LayerNormGrads grads = layer_norm_backward(dy, x, gamma, mean, rstd);
    return {grads.dx, grads.dgamma, grads.dbeta};
  }
};
// [/snippet]

}  // namespace

Var layer_norm(const Var& x, const Var& gamma, const Var& beta, double eps) {
  const LayerNormed forward = layer_norm(x.data(), gamma.data(), beta.defined() ? beta.data() : Tensor(), eps);
  return record(forward.y, {x, gamma, beta},
                LayerNormRule{.x = x.data(), .gamma = gamma.data(), .mean = forward.mean, .rstd = forward.rstd});
}

}  // namespace ringlet
