// GELU (Hendrycks & Gimpel, 2016), in both forms in use. They differ by up to 4.8e-4: weights trained with one expect that one.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace ringlet {

enum class GeluForm : uint8_t {
  Erf,   // x·Φ(x),  Φ(x) = (1 + erf(x/√2)) / 2
  Tanh,  // x·(1 + tanh(√(2/π)·(x + 0.044715·x³))) / 2
};

Tensor gelu(const Tensor& x, GeluForm form);
/// dx = dy · gelu'(x).
Tensor gelu_backward(const Tensor& dy, const Tensor& x, GeluForm form);

}  // namespace ringlet
