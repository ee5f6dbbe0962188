// Elementwise functions. f32 has polynomials of our own (kernels/cpu/math.h, error in ulp stated there), the same in the vector
// body and the scalar tail; f64 is the C library's. NaN in, NaN out.
#pragma once

#include "tensor/tensor.h"

namespace ringlet {

Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);  // 1 / sqrt(x)
Tensor square(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor erf(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor relu(const Tensor& x);
/// 1 where x > 0, else 0.
Tensor step(const Tensor& x);

}  // namespace ringlet
