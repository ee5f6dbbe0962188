// Masked multi-head self-attention (Vaswani et al., 2017), fused. Saves qkv and one number per row and head; the probabilities are
// computed anew in backward, so memory grows with T, not T². The clear form is attention_clear.h, and this one's oracle.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops/attention.h"

namespace ringlet {

/// qkv: [B, T, 3C] -> [B, T, C]; in each row q, k, v of C columns, head h owns columns h·C/H … inside each. Causal.
/// key_padding: undefined, or [B, T] of u8, 1 where the key is padding. A row with every key masked gives zeros, and zero gradients.
Var attention(const Var& qkv, int64_t heads, const Tensor& key_padding = {}, const AttentionDropout& dropout = {});

}  // namespace ringlet
