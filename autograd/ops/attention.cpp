#include "autograd/ops/attention.h"

#include <string>

#include "autograd/record.h"

namespace ringlet {
namespace {

// [snippet: rule]
// s = q·kᵀ/√D, masked    p = softmax(s)    y = p·v          per head, D = C/H
// dv = pᵀ·dy    dp = dy·vᵀ    ds = p·(dp − Σ_j dp·p)    dq = ds·k/√D    dk = dsᵀ·q/√D          with p = exp(s − log_sum) anew
struct AttentionRule {
  static constexpr std::string_view kName = "attention";
  Saved qkv, log_sum, key_padding;  // [B, T, 3C]  [B, H, T]  [B, T]
  int64_t heads;
  AttentionDropout dropout;
  std::string purpose;  // owns what dropout.purpose points at

  Grads backward(const Tensor& dy) const {
    AttentionDropout again = dropout;
    again.purpose = purpose;
    return {attention_backward(dy, qkv, Attended{.y = {}, .log_sum = log_sum}, heads, key_padding, again)};
  }
};
// [/snippet]

}  // namespace

Var attention(const Var& qkv, int64_t heads, const Tensor& key_padding, const AttentionDropout& dropout) {
  const Attended forward = attention(qkv.data(), heads, key_padding, dropout);
  return record(forward.y, {qkv},
                AttentionRule{.qkv = qkv.data(),
                              .log_sum = forward.log_sum,
                              .key_padding = key_padding,
                              .heads = heads,
                              .dropout = dropout,
                              .purpose = std::string(dropout.purpose)});
}

}  // namespace ringlet
