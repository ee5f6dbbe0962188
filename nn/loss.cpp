#include "nn/loss.h"

#include "autograd/ops/cross_entropy.h"

namespace ringlet {

TokenLoss token_loss(const Var& logits, const Tensor& targets) {
  check(logits.rank() == 3, "token_loss: logits must be [B, T, V], got {}", logits.shape());
  check_shape("token_loss: targets", targets, {logits.dim(0), logits.dim(1)});
  const SummedLoss loss = cross_entropy(logits, targets);
  return {loss.sum, loss.count};
}

}  // namespace ringlet
