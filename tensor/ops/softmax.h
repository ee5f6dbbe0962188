// Softmax over the last dim.
#pragma once

#include "tensor/tensor.h"

namespace ringlet {

/// p_j = exp(x_j − max) / Σ_k exp(x_k − max). A row that is −inf throughout gives zeros (every key masked), never NaN.
Tensor softmax(const Tensor& x);
/// dx = p · (dp − Σ_k dp_k·p_k).
Tensor softmax_backward(const Tensor& p, const Tensor& dp);

}  // namespace ringlet
