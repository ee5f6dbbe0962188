// Masked multi-head self-attention, spelled with products and softmax. Keeps all [B, H, T, T] probabilities for backward.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops/attention.h"

namespace ringlet {

/// The same function of the same arguments as `attention`, to rounding; dropout drops the same elements.
Var attention_clear(const Var& qkv, int64_t heads, const Tensor& key_padding = {}, const AttentionDropout& dropout = {});

}  // namespace ringlet
