// Softmax and the negative log-likelihood of the label, fused: the gradient is p − onehot, which needs no logarithm of a
// probability that may be zero.
#pragma once

#include "tensor/tensor.h"

namespace ringlet {

/// Targets with this value are not counted: they add nothing to the sum, the count or the gradient.
inline constexpr int32_t kIgnoreIndex = -100;

struct CrossEntropy {
  Tensor sum;         // []     Σ over counted rows of  log Σ_v exp(z_v) − z_label, summed in f64, in the logits' dtype
  int64_t count = 0;  //        how many rows were counted
  Tensor
      log_sum;  // [N]    log Σ_v exp(z_v) per counted row, else 0; f64, so that large logits keep the digits of exp(z − log_sum)
};
/// logits: [N, V] f32 / f64   targets: [N] i32. A label outside 0 .. V-1 that is not `kIgnoreIndex` is an `Error` naming position,
/// label and V.
CrossEntropy cross_entropy(const Tensor& logits, const Tensor& targets);

/// dz = d · (exp(z − log_sum) − onehot(label)), zero in rows not counted.  d: [] (the gradient of the sum).
Tensor cross_entropy_backward(const Tensor& d, const Tensor& logits, const Tensor& targets, const Tensor& log_sum);

}  // namespace ringlet
