// Reductions. The order of the additions is fixed by the length alone: 16 running sums over i mod 16 within blocks, joined as a
// balanced tree, blocks joined pairwise, so the error grows with the logarithm of the length, not with the length
// (kernels/cpu/summation.h). Over a dim that is not the last, rows are added top to bottom in blocks of 64, blocks pairwise.
//
// f32 and f64 keep their dtype. bf16 is summed in f32, and the result is f32: eight bits of significand cannot hold a sum.
#pragma once

#include "tensor/tensor.h"

namespace ringlet {

/// The sum of all elements, as a scalar tensor (shape []).
Tensor sum(const Tensor& x);
Tensor mean(const Tensor& x);

// Over one dim, which stays with extent 1. Negative `dim` counts from the end. The mean and the maximum of no elements are errors.
Tensor sum(const Tensor& x, int dim);
Tensor mean(const Tensor& x, int dim);
Tensor max(const Tensor& x, int dim);  // NaN where there is a NaN

/// Sums over the dims along which `shape` was stretched by broadcasting to x's shape: the transpose of `expand`. Gives `x`
/// itself, not a copy, when nothing was stretched. In the dtype of x: bf16 is summed in f32 and rounded once at the end.
Tensor sum_to(const Tensor& x, const Shape& shape);

/// Sum of the squares of all elements in fp64; finite for any finite f32 input.
double squared_norm(const Tensor& x);
/// Whether every element is finite.
bool all_finite(const Tensor& x);

}  // namespace ringlet
