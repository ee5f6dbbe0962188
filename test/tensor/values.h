// Values for tests: pure functions of a name.
#pragma once

#include <cmath>
#include <cstring>
#include <string_view>
#include <vector>

#include "tensor/ops/random.h"

namespace ringlet::test {

template <typename T>
std::vector<T> normals(int64_t count, std::string_view name) {
  const RandomStream stream(7, name);
  std::vector<double> values(static_cast<size_t>(count));
  stream.normals(0, values);
  return {values.begin(), values.end()};
}

inline Tensor normal(const Shape& shape, std::string_view name, DType dtype = DType::F32) {
  Tensor x = Tensor::empty(shape, dtype);
  fill_normal(x, RandomStream(7, name), 0.0, 1.0);
  return x;
}

/// Bits, not values: −0 differs from 0, and a NaN equals itself.
template <typename T>
bool same_bits(const T* a, const T* b, int64_t n) {
  return n == 0 || std::memcmp(a, b, static_cast<size_t>(n) * sizeof(T)) == 0;
}
inline bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous(), y = b.contiguous();
  return x.shape() == y.shape() && x.dtype() == y.dtype() &&
         (x.numel() == 0 || std::memcmp(x.raw_data(), y.raw_data(), static_cast<size_t>(x.bytes())) == 0);
}

/// The largest |a_i − b_i|; NaN anywhere gives NaN.
inline double largest_difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  for (size_t i = 0; i < x.size(); ++i) {
    const double difference = std::fabs(x[i] - y[i]);
    largest = largest < difference || std::isnan(difference) ? difference : largest;
  }
  return largest;
}

}  // namespace ringlet::test
