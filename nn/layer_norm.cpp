#include "nn/layer_norm.h"

#include "autograd/ops/cast.h"
#include "autograd/ops/layer_norm.h"

namespace ringlet {

LayerNorm::LayerNorm(int64_t embed_dim, bool bias, double eps, DType dtype)
    : gamma_(add_parameter("weight", {embed_dim}, dtype, 1.0)),
      beta_(bias ? add_parameter("bias", {embed_dim}, dtype) : Var()),
      eps_(eps) {}

Var LayerNorm::forward(const Var& x_in) {
  return hooked(x_in, [&](const Var& x) {
    return layer_norm(x, cast(gamma_, x.dtype()), beta_.defined() ? cast(beta_, x.dtype()) : beta_, eps_);
  });
}

}  // namespace ringlet
