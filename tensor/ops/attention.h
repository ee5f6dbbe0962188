// Masked multi-head self-attention (Vaswani et al., 2017), fused: one pass per head over scores that never leave the cache.
// The clear form, spelled with products and softmax, is autograd/ops/attention_clear.h, and this one's oracle.
#pragma once

#include <string_view>

#include "tensor/base/random.h"
#include "tensor/tensor.h"

namespace ringlet {

/// Dropout of attention probabilities: element (b, h, i, j) is kept by number ((b·H + h)·T + i)·T + j of the stream.
struct AttentionDropout {
  double probability = 0.0;
  uint64_t seed = 0;
  std::string_view purpose = {};
  StreamIndex index = 0;
};

struct Attended {
  Tensor y;        // [B, T, C]
  Tensor log_sum;  // [B, H, T]   log Σ_j exp(s_ij) per row, f64 as in cross_entropy.h; −inf for a row with every key masked
};

/// qkv: [B, T, 3C], in each row q, k, v of C columns; head h owns columns h·C/H … inside each.
///   s_ij = q_i·k_j / √(C/H) for j ≤ i (causal) and not padded, else −∞;  p = softmax(s);  y_i = Σ_j p_ij·v_j.
/// key_padding: undefined, or [B, T] of u8, 1 where the key is padding. A row with every key masked gives zeros, and zero gradients.
/// Row i is a function of rows 0 … i alone, to the bit: not of T, of later tokens (NaN included), or of B and H. With padding it has
/// the bits that the unpadded keys alone would give.
Attended attention(const Tensor& qkv, int64_t heads, const Tensor& key_padding, const AttentionDropout& dropout);

/// dqkv: [B, T, 3C]. Of `forward` only log_sum is looked at, from which the probabilities are computed anew:
///   dv = Pᵀ·dy,  dp = dy·vᵀ,  ds = p·(dp − Σ_j dp·p),  dq = ds·k/√(C/H),  dk = dsᵀ·q/√(C/H).
Tensor attention_backward(const Tensor& dy, const Tensor& qkv, const Attended& forward, int64_t heads,
                          const Tensor& key_padding, const AttentionDropout& dropout);

}  // namespace ringlet
