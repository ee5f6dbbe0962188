// Softmax and the negative log-likelihood of the label, fused: the gradient is p − onehot, which needs no logarithm of a
// probability that may be zero.
#pragma once

#include "tensor/later.h"
#include "tensor/tensor.h"

namespace ringlet {

/// Targets with this value are not counted: they add nothing to the sum, the count or the gradient.
inline constexpr int32_t kIgnoreIndex = -100;

struct CrossEntropy {
  Tensor sum;  // []     Σ over counted rows of  log Σ_v exp(z_v) − z_label, in f64, rounded to the logits' dtype (bf16: f32)
  Later<int64_t> count;  //        how many rows were counted
  Tensor log_sum;        // [N]    log Σ_v exp(z_v) per counted row, else 0; f64, so that exp(z − log_sum) keeps its digits
};
/// logits: [N, V]   targets: [N] i32. A label outside 0 .. V-1 that is not `kIgnoreIndex` is an `Error` naming position,
/// label and V; on a device that `Error` comes from the next wait for it.
CrossEntropy cross_entropy(const Tensor& logits, const Tensor& targets);

/// dz = d · (exp(z − log_sum) − onehot(label)), zero in rows not counted.  d: [] (the gradient of the sum).
Tensor cross_entropy_backward(const Tensor& d, const Tensor& logits, const Tensor& targets, const Tensor& log_sum);

}  // namespace ringlet
