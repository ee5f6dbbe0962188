// What a language model is trained on: the negative log-likelihood of the next token.
#pragma once

#include <cstdint>

#include "autograd/variable.h"
#include "tensor/ops/cross_entropy.h"  // kIgnoreIndex

namespace ringlet {

/// A sum over tokens and how many were counted, never a mean: sums of micro-batches and ranks add, and the division happens once,
/// by the count of the whole global batch.
struct TokenLoss {
  Var sum;               // []  Σ −log p(target)
  Later<int64_t> count;  //     targets that are not `kIgnoreIndex`
};

/// logits: [B, T, V]   targets: [B, T] of i32. A target outside 0 .. V-1 that is not `kIgnoreIndex` is an `Error`.
/// Where no target is counted the sum is 0, the count 0 and every gradient exactly 0.
TokenLoss token_loss(const Var& logits, const Tensor& targets);

}  // namespace ringlet
