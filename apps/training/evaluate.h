// The loss on text that was not trained on.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "collectives/communicator.h"
#include "dist/strategy.h"
#include "nn/module.h"

namespace ringlet {

/// (all) Σ loss / Σ count over batches 0 … `batches` − 1, dealt to the ranks; NaN when nothing was counted. Every rank calls `loss_of`
/// equally often, because it may communicate: a rank whose share is smaller computes its last batch (or batch 0) once more and
/// drops the result, so every batch counts exactly once whatever the number of ranks.
double evaluate(int64_t batches, const std::function<TokenSum(int64_t)>& loss_of, Communicator& world);

/// (all) Mean loss in nats per token over all of `tokens`: every token but the first is predicted once, in blocks of `seq_len` that
/// follow each other (the last may be shorter), `batch_size` at a time. NaN for fewer than 2 tokens. Dropout is off meanwhile.
double heldout_loss(Module& model, Strategy& parallel, std::span<const int32_t> tokens, int64_t seq_len, int64_t batch_size,
                    Communicator& world);

}  // namespace ringlet
