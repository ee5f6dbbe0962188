// The gradient of one step: Σ over its micro-batches in order T, as flat tensors like the flat parameter. While backward runs,
// every variable's gradient is a view, so nothing is copied, and what a micro-batch does not use contributes zeros. Sums that
// start from +0 are never −0, so the zeros of a rank without a micro-batch change no bit of the others' sum.
#pragma once

#include <vector>

#include "dist/flat_parameter.h"
#include "dist/tree_sum.h"

namespace ringlet {

class FlatGradient {
 public:
  explicit FlatGradient(const FlatParameter& parameter) : parameter_(parameter) {}

  /// Takes the memory of `sum()` now, not with the first micro-batch: for an optimizer that will read it there.
  const Tensor& reserve();

  /// Makes room for one more term: zeros, to which backward adds.
  void begin_micro_batch();
  /// Of the step's last micro-batch, while it still computes: elements [begin, end) are complete. Joins there what waits, and
  /// returns that range of `sum()`. Otherwise (after `finish`) the range is just that. The same bits as joining all at once.
  Tensor finish_range(int64_t begin, int64_t end);
  /// The open term. When each is reduced over ranks by itself, before it is joined.
  Tensor term() const { return buffers_[static_cast<size_t>(order_.depth())]; }
  /// The term is complete. Either no range of it was finished, or all were, and it was the last.
  void end_micro_batch();
  /// Joins what waits; `sum()` is then the step's gradient on this rank, zeros if there was no micro-batch.
  void finish();
  /// Starts the next step.
  void clear() {
    order_.clear();
    open_ = false;
    finished_ = 0;
  }

  /// Starts the next step without any memory, until the next `begin_micro_batch`; variables have no gradient meanwhile.
  void release();

  /// [padded_numel()], the same memory in every step unless released; the variables' gradients are views of it after `finish`.
  const Tensor& sum() const { return buffers_.front(); }
  int64_t micro_batches() const { return order_.terms(); }
  /// Flat tensors held: 1 + ⌊log2 k⌋ after a step of k micro-batches. They are kept until `release`.
  int64_t copies() const { return static_cast<int64_t>(buffers_.size()); }

 private:
  void point_variables_at(size_t buffer);
  void join(int lower);

  const FlatParameter& parameter_;
  std::vector<Tensor> buffers_;             // a stack of partial sums
  std::vector<std::vector<Tensor>> views_;  // of each buffer, one per entry
  TreeOrder order_;
  bool open_ = false;     // between begin_micro_batch and end_micro_batch
  int64_t finished_ = 0;  // elements of the open micro-batch in ranges that are finished
};

}  // namespace ringlet
