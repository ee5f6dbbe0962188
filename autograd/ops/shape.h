// The same numbers in another arrangement. Views where the tensors are views: then the result shares memory with `x`.
#pragma once

#include <initializer_list>
#include <span>

#include "autograd/variable.h"

namespace ringlet {

Var reshape(const Var& x, const Shape& shape);  // one extent may be -1; copies only when `x` is not contiguous
Var transpose(const Var& x, int dim0, int dim1);
Var permute(const Var& x, std::initializer_list<int> order);
/// `length` entries of `dim` from `start` on.
Var narrow(const Var& x, int dim, int64_t start, int64_t length);
/// Stretched by broadcasting.
Var expand(const Var& x, const Shape& shape);

/// The parts one after the other along `dim`; all other extents agree. Copies.
Var concat(std::span<const Var> parts, int dim);
Var concat(std::initializer_list<Var> parts, int dim);

/// `value` where mask (u8, broadcast to the shape of `x`) is not 0, else x. No gradient flows where it was filled.
Var masked_fill(const Var& x, const Tensor& mask, double value);

}  // namespace ringlet
