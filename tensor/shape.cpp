#include "tensor/shape.h"

#include <algorithm>

namespace ringlet {

int64_t Shape::numel() const {
  int64_t product = 1;
  for (const int64_t extent : dims()) {
    check(extent >= 0, "shape: extents are not negative, got {}", *this);
    check(!__builtin_mul_overflow(product, extent, &product), "shape: more elements than an int64 can count, got {}", *this);
  }
  return product;
}

int64_t Shape::rows() const { return without(-1).numel(); }

Shape Shape::contiguous_strides() const {
  Shape strides = *this;
  int64_t step = 1;
  for (int i = rank_ - 1; i >= 0; --i) {
    strides.dims_[static_cast<size_t>(i)] = step;
    step *= std::max<int64_t>(1, dims_[static_cast<size_t>(i)]);
  }
  return strides;
}

Shape Shape::without(int dim) const {
  const auto skip = static_cast<int>(index(dim));
  Shape rest = filled(rank_ - 1, 0);
  for (int i = 0, out = 0; i < rank_; ++i) {
    if (i != skip) {
      rest[out++] = (*this)[i];
    }
  }
  return rest;
}

Shape Shape::with(int dim, int64_t extent) const {
  Shape changed = *this;
  changed[dim] = extent;
  return changed;
}

std::string to_text(const Shape& shape) {
  std::string text = "[";
  for (int i = 0; i < shape.rank(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

Shape broadcast_shapes(std::string_view who, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape joined = Shape::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const int64_t x = i <= a.rank() ? a[-i] : 1, y = i <= b.rank() ? b[-i] : 1;
    check(x == y || x == 1 || y == 1, "{}: shapes do not broadcast, {} and {}", who, a, b);
    joined[-i] = x == 1 ? y : x;
  }
  return joined;
}

Shape broadcast_strides(const Shape& shape, const Shape& strides, const Shape& wanted) {
  if (shape == wanted) {
    return strides;
  }
  Shape stretched = Shape::filled(wanted.rank(), 0);
  for (int i = 1; i <= shape.rank(); ++i) {
    stretched[-i] = shape[-i] == 1 ? 0 : strides[-i];
  }
  return stretched;
}

}  // namespace ringlet
