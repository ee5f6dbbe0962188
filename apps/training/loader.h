// One rank's share of every step's data.
#pragma once

#include <cstdint>

#include "apps/training/dataset.h"
#include "apps/training/micro_batches.h"
#include "tensor/tensor.h"

namespace ringlet {

/// A micro-batch: B sequences of T tokens, and for each position the token that follows.
struct Batch {
  Tensor tokens;   // [B, T] i32
  Tensor targets;  // [B, T] i32
};

/// Stateless but for what it was made with: step and micro-batch say everything.
class Loader {
 public:
  /// `dataset` must outlive this. T = seq_len. `in_turn`: ranks take micro-batches in turn, not in contiguous ranges.
  Loader(const Dataset& dataset, MicroBatches plan, int64_t seq_len, int rank, int size, bool in_turn = false);

  /// The micro-batches of every step that are this rank's, by their global index; may be empty.
  IndexRange mine() const { return mine_; }
  const MicroBatches& plan() const { return plan_; }
  /// Sequences in the largest of them, 0 if there are none.
  int64_t largest_batch() const { return mine_.empty() ? 0 : plan_.of(mine_.begin).size(); }
  Batch load(int64_t step, int64_t micro_batch) const;
  /// How many micro-batches came before this one in the whole run: what dropout masks are a function of.
  uint64_t index(int64_t step, int64_t micro_batch) const { return static_cast<uint64_t>(step * plan_.count() + micro_batch); }
  /// Hash of all tokens that this rank reads in `step`.
  uint64_t block_hash(int64_t step) const;

 private:
  const Dataset& dataset_;
  MicroBatches plan_;
  int64_t seq_len_;
  IndexRange mine_;
};

}  // namespace ringlet
