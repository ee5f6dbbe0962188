// Memory of a GPU for what is measured on it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tensor/tensor.h"

namespace ringlet {

/// Normal numbers, mean 0 and variance 1: a block of at most 65,536, repeated. On the GPU of the calling thread's tensors.
Tensor gpu_numbers(const Shape& shape, DType dtype);

/// As many calls as `make` gives, each on memory of its own of which it touches `bytes`, as together touch 4 times what the GPU's cache
/// holds: in turn, none finds its memory in there. At least 1, at most 64.
std::vector<std::function<void()>> cold_sets(const std::function<std::function<void()>()>& make, int64_t bytes);

}  // namespace ringlet
