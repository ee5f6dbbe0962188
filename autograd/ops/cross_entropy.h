// Softmax and the negative log-likelihood of the label, fused. A sum and a count, never a mean: the mean is taken once, over all
// micro-batches and ranks.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops/cross_entropy.h"

namespace ringlet {

struct SummedLoss {
  Var sum;               // []  Σ over counted rows of  log Σ_v exp(z_v) − z_label
  Later<int64_t> count;  //     how many rows were counted
};

/// logits: [..., V]   targets: [...] of i32. Rows whose target is `kIgnoreIndex` are not counted and get a gradient of exactly zero;
/// if no row is counted the sum is 0 and the count 0. Any other label outside 0 .. V-1 is an `Error`.
SummedLoss cross_entropy(const Var& logits, const Tensor& targets);

}  // namespace ringlet
