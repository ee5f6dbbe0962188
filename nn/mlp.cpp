#include "nn/mlp.h"

#include "autograd/ops/gelu.h"

namespace ringlet {

Mlp::Mlp(const GptConfig& config, const std::string& path)
    : activation_(config.activation),
      c_fc_(config.embed_dim, 4 * config.embed_dim, config.bias, config.dtype),
      c_proj_(4 * config.embed_dim, config.embed_dim, config.bias, config.dtype),
      dropout_(config.dropout, config.seed, path + ".dropout") {
  add_module("c_fc", c_fc_);
  add_module("c_proj", c_proj_);
  add_module("dropout", dropout_);
}

Var Mlp::forward(const Var& x_in) {
  return hooked(x_in, [&](const Var& x) {
    const Var hidden = gelu(c_fc_.forward(x), activation_);  // [..., 4C]
    return dropout_.forward(c_proj_.forward(hidden));
  });
}

}  // namespace ringlet
