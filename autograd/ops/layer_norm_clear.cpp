#include "autograd/ops/layer_norm_clear.h"

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/math.h"
#include "autograd/ops/reduce.h"

namespace ringlet {

// [snippet: forward]
// y = x̂·γ + β      x̂ = (x − μ)·ρ      ρ = 1/√(σ² + ε)      μ, σ²: mean and variance over the last dim
Var layer_norm_clear(const Var& x, const Var& gamma, const Var& beta, double eps) {
  const Var centred = x - mean(x, -1);
  const Var rstd = rsqrt(mean(square(centred), -1) + eps);
  const Var scaled = centred * rstd * gamma;
  return beta.defined() ? scaled + beta : scaled;
}
// [/snippet]

}  // namespace ringlet
