#pragma once

#include <string>

#include "nn/module.h"
#include "tensor/ops/attention.h"

namespace ringlet {

/// y_i = x_i/(1 − p) if element i is kept, else 0  (Srivastava et al., 2014); y = x when p = 0 and in eval.
/// A mask is a pure function of (seed, path, index, element): nothing to save or restore, and the same when recomputed. `index`
/// says which micro-batch this is, counted over all ranks and steps, so no two of them share a mask.
class Dropout : public Module {
 public:
  /// `path` is where the module stands in its model ("h.0.mlp.dropout").
  Dropout(double probability, uint64_t seed, const std::string& path);
  Var forward(const Var& x);
  void set_index(uint64_t index) { index_ = index; }
  uint64_t index() const { return index_; }
  /// From here on kernels read the index at `at`, one i64 on the device where they compute, whatever `set_index` says: recorded work
  /// (Gpu::record) then has another mask each time. An undefined tensor ends it.
  void read_index_at(const Tensor& at);
  /// For attention, which drops its probabilities itself. The view lives as long as this module.
  AttentionDropout for_attention() const;

 private:
  double active_probability() const { return training() ? probability_ : 0.0; }
  StreamIndex stream_index() const;

  double probability_;
  uint64_t seed_;
  uint64_t index_ = 0;
  Tensor index_at_;  // undefined: index_ it is
  std::string purpose_;
};

/// Sets the index of every `Dropout` in `model`.
void set_dropout_index(Module& model, uint64_t index);

}  // namespace ringlet
