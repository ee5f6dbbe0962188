// The extents of a tensor: up to six dims, stored inline, so that making one never allocates.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "tensor/base/check.h"

namespace ringlet {

inline constexpr int kMaxDims = 6;

/// Extents, or strides in elements. A shape of no dims is a scalar: one element.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims) : rank_(static_cast<int>(dims.size())) {
    check(dims.size() <= kMaxDims, "shape: at most {} dims, got {}", kMaxDims, dims.size());
    for (size_t i = 0; i < dims.size(); ++i) {
      dims_[i] = dims[i];
    }
  }
  /// `rank` dims of extent `value`.
  static Shape filled(int rank, int64_t value) {
    Shape shape;
    shape.rank_ = rank;
    shape.dims_.fill(value);
    return shape;
  }

  int rank() const { return rank_; }
  /// Extent of dim `i`; negative counts from the end.
  int64_t operator[](int i) const { return dims_[index(i)]; }
  int64_t& operator[](int i) { return dims_[index(i)]; }
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }

  /// Number of elements. Throws when it does not fit into an int64 or an extent is negative.
  int64_t numel() const;
  /// Number of rows along the last dim: the product of all other extents. Throws for a scalar, which has no last dim.
  int64_t rows() const;
  /// Row-major strides.
  Shape contiguous_strides() const;
  Shape without(int dim) const;
  Shape with(int dim, int64_t extent) const;

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) {
      return false;
    }
    for (int i = 0; i < a.rank_; ++i) {
      if (a.dims_[static_cast<size_t>(i)] != b.dims_[static_cast<size_t>(i)]) {
        return false;
      }
    }
    return true;
  }

 private:
  size_t index(int i) const {
    const int positive = i < 0 ? i + rank_ : i;
    check(positive >= 0 && positive < rank_, "shape: dim {} of a shape with {} dims", i, rank_);
    return static_cast<size_t>(positive);
  }

  std::array<int64_t, kMaxDims> dims_{};
  int rank_ = 0;
};

/// "[64, 32]".
std::string to_text(const Shape& shape);

/// The shape that `a` and `b` broadcast to: aligned at the last dim, an extent of 1 stretches. Throws naming `who`.
Shape broadcast_shapes(std::string_view who, const Shape& a, const Shape& b);

/// The strides under which elements laid out as (`shape`, `strides`) are seen stretched to `wanted`: 0 in every stretched dim.
Shape broadcast_strides(const Shape& shape, const Shape& strides, const Shape& wanted);

}  // namespace ringlet
