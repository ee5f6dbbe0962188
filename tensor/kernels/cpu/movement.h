// Copying, filling and masking of strided views, of any dtype. Shapes and strides in elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/base/dtype.h"
#include "tensor/shape.h"

namespace ringlet::kernels {

/// to[i] = from[i] for every index i of `shape`, converted: bf16 goes through fp32; a float becomes an integer by truncation.
void copy_strided(DType to_dtype, void* to, const Shape& to_strides, DType from_dtype, const void* from,
                  const Shape& from_strides, const Shape& shape);

/// Every element of the view = `value`.
void fill(DType dtype, void* to, const Shape& shape, const Shape& strides, double value);

/// Contiguous x: where mask[i] is not 0, x[i] = value.
template <typename T>
void masked_fill(T* x, const uint8_t* mask, const Shape& mask_strides, const Shape& shape, T value);

}  // namespace ringlet::kernels
