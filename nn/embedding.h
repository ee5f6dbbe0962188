#pragma once

#include "nn/module.h"

namespace ringlet {

/// y[..., :] = W[ids[...], :].    ids: [...] of i32   W: [V, C]   y: [..., C]
/// An id outside 0 .. V-1 is an `Error` that names its position, the id and V. Made of zeros: see nn/init.h.
class Embedding : public Module {
 public:
  Embedding(int64_t rows, int64_t embed_dim, DType dtype = DType::F32);
  Var forward(const Tensor& ids);
  /// The rows 0 .. count-1: the embedding of the ids in order, without looking them up.
  Var first(int64_t count);
  const Var& weight() const { return weight_; }

 private:
  Var weight_;
};

}  // namespace ringlet
