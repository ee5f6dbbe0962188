#include "nn/layer_norm.h"

#include "autograd/ops/cast.h"
#include "autograd/ops/layer_norm.h"

namespace ringlet {

LayerNorm::LayerNorm(int64_t embed_dim, bool bias, double eps, DType dtype)
    : gamma_(add_parameter("weight", Tensor::full({embed_dim}, 1.0, dtype, Category::Parameters))),
      beta_(bias ? add_parameter("bias", Tensor::zeros({embed_dim}, dtype, Category::Parameters)) : Var()),
      eps_(eps) {}

Var LayerNorm::forward(const Var& x_in) {
  return hooked(x_in, [&](const Var& x) {
    return layer_norm(x, cast(gamma_, x.dtype()), beta_.defined() ? cast(beta_, x.dtype()) : beta_, eps_);
  });
}

}  // namespace ringlet
