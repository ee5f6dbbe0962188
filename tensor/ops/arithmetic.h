// Elementwise arithmetic with broadcasting: aligned at the last dim, an extent of 1 stretches.
#pragma once

#include "tensor/tensor.h"

namespace ringlet {

// Both operands have the same dtype, f32 or f64. Result: the broadcast shape.
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& x);

// With a number, rounded to the dtype of `x` first.
Tensor operator+(const Tensor& x, double c);
Tensor operator*(const Tensor& x, double c);

/// x += y, elementwise: same shape, or `y` broadcasts to the shape of `x`. In place.
void add_into(Tensor& x, const Tensor& y);
/// x *= y, as add_into adds.
void multiply_into(Tensor& x, const Tensor& y);
/// x *= c. In place.
void scale_into(Tensor& x, double c);
/// x /= c. In place. Not the same bits as scaling by 1 / c.
void divide_into(Tensor& x, double c);

}  // namespace ringlet
