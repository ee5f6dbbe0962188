#include <utility>

#include "tensor/tensor.h"

namespace ringlet {

Tensor Tensor::view(const Shape& shape) const {
  require_contiguous("view");
  Shape wanted = shape;
  int64_t known = 1;
  int open = -1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1) {
      check(open < 0, "Tensor::view: at most one extent may be -1, got {}", shape);
      open = i;
    } else {
      known *= shape[i];
    }
  }
  if (open >= 0) {
    check(known > 0 && numel_ % known == 0, "Tensor::view: {} elements cannot be seen as {}", numel_, shape);
    wanted[open] = numel_ / known;
  }
  check(wanted.numel() == numel_, "Tensor::view: {} elements cannot be seen as {}", numel_, shape);
  return {storage_, wanted, wanted.contiguous_strides(), offset_, dtype_};
}

Tensor Tensor::transpose(int dim0, int dim1) const {
  Shape shape = shape_, strides = strides_;
  std::swap(shape[dim0], shape[dim1]);
  std::swap(strides[dim0], strides[dim1]);
  return {storage_, shape, strides, offset_, dtype_};
}

Tensor Tensor::permute(std::initializer_list<int> order) const {
  check(static_cast<int>(order.size()) == rank(), "Tensor::permute: {} dims named for shape {}", order.size(), shape_);
  Shape shape = shape_, strides = strides_;
  uint32_t seen = 0;
  int i = 0;
  for (const int dim : order) {
    check(dim >= 0 && dim < rank() && (seen >> dim & 1U) == 0, "Tensor::permute: dim {} is out of range or named twice", dim);
    seen |= 1U << dim;
    shape[i] = shape_[dim];
    strides[i++] = strides_[dim];
  }
  return {storage_, shape, strides, offset_, dtype_};
}

Tensor Tensor::narrow(int dim, int64_t start, int64_t length) const {
  check(start >= 0 && length >= 0 && start <= shape_[dim] - length,
        "Tensor::narrow: {} entries from {} on, of dim {} of shape {}", length, start, dim, shape_);
  return {storage_, shape_.with(dim, length), strides_, offset_ + start * strides_[dim], dtype_};
}

Tensor Tensor::expand(const Shape& shape) const {
  check(broadcast_shapes("Tensor::expand", shape_, shape) == shape, "Tensor::expand: {} cannot be stretched to {}", shape_,
        shape);
  return {storage_, shape, broadcast_strides(shape_, strides_, shape), offset_, dtype_};
}

void Tensor::require_own_elements() const {
  for (int d = 0; d < rank(); ++d) {
    check(
        shape_[d] < 2 || strides_[d] != 0 || numel_ == 0,
        "Tensor: shape {} is stretched by strides {}, its elements are one and the same and cannot be written; clone it first",
        shape_, strides_);
  }
}

}  // namespace ringlet
