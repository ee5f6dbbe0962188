#pragma once

#include <string>

#include "nn/dropout.h"
#include "nn/gpt_config.h"
#include "nn/linear.h"

namespace ringlet {

/// y = attend(x·W_qkv)·W_proj, each position over itself and those before it (Vaswani et al., 2017).    x, y: [B, T, C]
/// W_qkv = c_attn: [C, 3C], three blocks of C columns for q, k, v; W_proj = c_proj: [C, C]; no biases.
class CausalSelfAttention : public Module {
 public:
  CausalSelfAttention(const GptConfig& config, const std::string& path);
  /// key_padding: undefined, or [B, T] of u8, 1 where the key is padding.
  Var forward(const Var& x, const Tensor& key_padding = {});

 private:
  int64_t heads_;
  Linear c_attn_;
  Linear c_proj_;
  Dropout attn_dropout_;
  Dropout resid_dropout_;
};

}  // namespace ringlet
