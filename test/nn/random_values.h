// Values for tests: pure functions of a name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nn/module.h"
#include "tensor/ops/random.h"

namespace ringlet::test {

inline Tensor normal(const Shape& shape, std::string_view name, double mean = 0.0, double deviation = 1.0,
                     DType dtype = DType::F64) {
  Tensor x = Tensor::empty(shape, dtype);
  fill_normal(x, RandomStream(7, name), mean, deviation);
  return x;
}

/// [B, T] of i32 in 0 .. V-1.
inline Tensor tokens(int64_t B, int64_t T, int64_t V, std::string_view name = "tokens", uint64_t index = 0) {
  const RandomStream stream(7, name, index);
  Tensor ids = Tensor::empty({B, T}, DType::I32);
  int32_t* id = ids.mutable_data<int32_t>();
  for (int64_t i = 0; i < B * T; ++i) {
    id[i] = static_cast<int32_t>(stream.below(static_cast<uint64_t>(i), static_cast<uint64_t>(V)));
  }
  return ids;
}

/// Every parameter away from the zeros and ones that it was made of: matrices N(0, deviation), vectors 1/2 + N(0, deviation).
inline void randomize(Module& model, double deviation = 0.3) {
  for (const NamedParameter& parameter : model.parameters()) {
    Tensor x = parameter.var.data();
    fill_normal(x, RandomStream(7, parameter.name), x.rank() == 1 ? 0.5 : 0.0, deviation);
  }
}

}  // namespace ringlet::test
