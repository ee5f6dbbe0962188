// Values for tests: pure functions of a name.
#pragma once

#include <string_view>

#include "autograd/variable.h"
#include "tensor/ops/random.h"

namespace ringlet::test {

inline Tensor normal(const Shape& shape, std::string_view name, DType dtype = DType::F64) {
  Tensor x = Tensor::empty(shape, dtype);
  fill_normal(x, RandomStream(3, name), 0.0, 1.0);
  return x;
}

inline Tensor uniform(const Shape& shape, std::string_view name, double low, double high, DType dtype = DType::F64) {
  Tensor x = Tensor::empty(shape, dtype);
  fill_uniform(x, RandomStream(3, name), low, high);
  return x;
}

/// A leaf that wants a gradient.
inline Var leaf(Tensor data) { return Var(std::move(data), true); }
inline Var leaf(double value) { return leaf(Tensor::full({}, value, DType::F64)); }

}  // namespace ringlet::test
