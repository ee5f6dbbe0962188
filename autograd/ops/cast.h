// Change of number type.
#pragma once

#include "autograd/variable.h"

namespace ringlet {

/// x in f32, f64 or bf16, which only a GPU computes in; the gradient comes back in the dtype of `x`. x itself when that is its dtype.
Var cast(const Var& x, DType dtype);

/// x rounded to bf16 and back. The gradient passes straight through (Bengio, Léonard & Courville, 2013): the derivative of a
/// staircase is zero almost everywhere and teaches nothing.
Var round_to_bf16(const Var& x);

}  // namespace ringlet
