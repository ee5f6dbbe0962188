#include "nn/block.h"

#include "autograd/ops/arithmetic.h"

namespace ringlet {

Block::Block(const GptConfig& config, const std::string& path)
    : ln_1_(config.embed_dim, config.bias, config.layer_norm_eps, config.dtype),
      attn_(config, path + ".attn"),
      ln_2_(config.embed_dim, config.bias, config.layer_norm_eps, config.dtype),
      mlp_(config, path + ".mlp") {
  add_module("ln_1", ln_1_);
  add_module("attn", attn_);
  add_module("ln_2", ln_2_);
  add_module("mlp", mlp_);
}

Var Block::forward(const Var& x_in, const Tensor& key_padding) {
  return hooked(x_in, [&](const Var& x) {
    const Var h = x + attn_.forward(ln_1_.forward(x), key_padding);
    return h + mlp_.forward(ln_2_.forward(h));
  });
}

}  // namespace ringlet
