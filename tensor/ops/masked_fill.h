// One number where a mask says so.
#pragma once

#include "tensor/tensor.h"

namespace ringlet {

/// `value` where mask is not 0, else x.  x: f32 / f64, any strides   mask: u8, broadcast to the shape of x. A copy.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);

}  // namespace ringlet
