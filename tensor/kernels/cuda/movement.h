// The twins of cpu/movement.h on a GPU: pointers are device pointers, and the call returns before the result is there.
#pragma once

#include "tensor/kernels/cpu/movement.h"

namespace ringlet::kernels::cuda {

void copy_strided(DType to_dtype, void* to, const Shape& to_strides, DType from_dtype, const void* from,
                  const Shape& from_strides, const Shape& shape);

void fill(DType dtype, void* to, const Shape& shape, const Shape& strides, double value);

template <typename T>
void masked_fill(T* x, const uint8_t* mask, const Shape& mask_strides, const Shape& shape, T value);

}  // namespace ringlet::kernels::cuda
