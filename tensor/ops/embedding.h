// Rows of a table by id.
#pragma once

#include "tensor/tensor.h"

namespace ringlet {

/// y[..., :] = table[ids[...], :].  table: [V, C]   ids: [...] of i32   ->   [..., C].
/// An id outside 0 .. V-1 is an `Error` that names its position, the id and V; nothing is read.
Tensor embedding(const Tensor& table, const Tensor& ids);

/// dtable[v, :] = Σ over the positions of id v, in ascending order, of dy.  -> [rows, C]; rows of ids that do not occur are 0.
/// bf16 gradients are summed in f32, and the result is f32.
Tensor embedding_backward(const Tensor& dy, const Tensor& ids, int64_t rows);

}  // namespace ringlet
