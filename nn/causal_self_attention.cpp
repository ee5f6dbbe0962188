#include "nn/causal_self_attention.h"

#include "autograd/ops/attention.h"

namespace ringlet {

CausalSelfAttention::CausalSelfAttention(const GptConfig& config, const std::string& path)
    : heads_(config.heads),
      c_attn_(config.embed_dim, 3 * config.embed_dim, false, config.dtype),
      c_proj_(config.embed_dim, config.embed_dim, false, config.dtype),
      attn_dropout_(config.dropout, config.seed, path + ".attn_dropout"),
      resid_dropout_(config.dropout, config.seed, path + ".resid_dropout") {
  add_module("c_attn", c_attn_);
  add_module("c_proj", c_proj_);
  add_module("attn_dropout", attn_dropout_);
  add_module("resid_dropout", resid_dropout_);
}

Var CausalSelfAttention::forward(const Var& x_in, const Tensor& key_padding) {
  return hooked(x_in, [&](const Var& x) {
    const Var qkv = c_attn_.forward(x);                                                       // [B, T, 3C]
    const Var attended = attention(qkv, heads_, key_padding, attn_dropout_.for_attention());  // [B, T, C]
    return resid_dropout_.forward(c_proj_.forward(attended));
  });
}

}  // namespace ringlet
