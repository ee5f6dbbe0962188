// Copying and filling of strided views.
#pragma once

#include <type_traits>

#include "tensor/base/bf16.h"
#include "tensor/shape.h"

namespace ringlet::kernels {

/// Converts one element. bf16 goes through fp32; a float becomes an integer by truncation.
template <typename To, typename From>
constexpr To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, bf16>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bf16>) {
    return bf16(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

/// Calls `row(offset_a, offset_b, length, step_a, step_b)` for every run along the last dim, in row-major order.
template <typename Row>
void for_each_row(const Shape& shape, const Shape& strides_a, const Shape& strides_b, Row&& row) {
  if (shape.numel() == 0) {
    return;
  }
  if (shape.rank() == 0) {
    row(int64_t{0}, int64_t{0}, int64_t{1}, int64_t{1}, int64_t{1});
    return;
  }
  const int last = shape.rank() - 1;
  Shape index = Shape::filled(shape.rank(), 0);
  int64_t a = 0, b = 0;
  for (;;) {
    row(a, b, shape[last], strides_a[last], strides_b[last]);
    int dim = last - 1;
    for (; dim >= 0; --dim) {  // the odometer: advance the innermost dim that has not come to its end
      a += strides_a[dim];
      b += strides_b[dim];
      if (++index[dim] < shape[dim]) {
        break;
      }
      a -= strides_a[dim] * shape[dim];
      b -= strides_b[dim] * shape[dim];
      index[dim] = 0;
    }
    if (dim < 0) {
      return;
    }
  }
}

template <typename To, typename From>
void copy_rows(To* to, const Shape& to_strides, const From* from, const Shape& from_strides, const Shape& shape) {
  for_each_row(shape, to_strides, from_strides, [&](int64_t a, int64_t b, int64_t length, int64_t step_a, int64_t step_b) {
    To* out = to + a;
    const From* in = from + b;
    if (step_a == 1 && step_b == 1) {
      for (int64_t i = 0; i < length; ++i) {
        out[i] = convert<To>(in[i]);
      }
    } else {
      for (int64_t i = 0; i < length; ++i) {
        out[i * step_a] = convert<To>(in[i * step_b]);
      }
    }
  });
}

template <typename T>
void fill_strided(T* to, const Shape& shape, const Shape& strides, T value) {
  for_each_row(shape, strides, strides, [&](int64_t a, int64_t, int64_t length, int64_t step, int64_t) {
    for (int64_t i = 0; i < length; ++i) {
      to[a + i * step] = value;
    }
  });
}

}  // namespace ringlet::kernels
