// Rows of a table by id.
#pragma once

#include "autograd/variable.h"

namespace ringlet {

/// y[..., :] = table[ids[...], :].  table: [V, C]   ids: [...] of i32   ->   [..., C]. An id outside 0 .. V-1 is an `Error`.
Var embedding(const Var& table, const Tensor& ids);

}  // namespace ringlet
