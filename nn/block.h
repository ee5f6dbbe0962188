#pragma once

#include <string>

#include "nn/causal_self_attention.h"
#include "nn/layer_norm.h"
#include "nn/mlp.h"

namespace ringlet {

/// x ← x + attn(ln_1(x));  x ← x + mlp(ln_2(x)): LayerNorm before each branch, so that the residual path is the identity
/// (GPT-2: Radford et al., 2019).    x: [B, T, C]
class Block : public Module {
 public:
  Block(const GptConfig& config, const std::string& path);
  Var forward(const Var& x, const Tensor& key_padding = {});

 private:
  LayerNorm ln_1_;
  CausalSelfAttention attn_;
  LayerNorm ln_2_;
  Mlp mlp_;
};

}  // namespace ringlet
