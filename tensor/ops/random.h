// Tensors of random numbers: element i (row-major) is number first + i of the stream, whatever part of a tensor it fills.
#pragma once

#include "tensor/base/random.h"
#include "tensor/tensor.h"

namespace ringlet {

void fill_normal(Tensor& x, const RandomStream& stream, double mean, double standard_deviation, uint64_t first = 0);
void fill_uniform(Tensor& x, const RandomStream& stream, double low, double high, uint64_t first = 0);

}  // namespace ringlet
