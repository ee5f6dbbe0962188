// From an op to the kernels for its operands: those of the device on which they lie, for the type of their elements.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include "tensor/kernels/table.h"
#include "tensor/tensor.h"

namespace ringlet {

/// Throws `Error` unless all lie on the device of `x`; undefined ones lie nowhere.
inline void check_same_device(std::string_view who, const Tensor& x, std::initializer_list<const Tensor*> others) {
  for (const Tensor* other : others) {
    check(!other->defined() || other->device() == x.device(),
          "{}: operands lie on different devices, {} and {}; copy one with to(device)", who, x.device(), other->device());
  }
}

/// Calls `body(table)` with the kernels::Table<T> for x. f32 and f64 everywhere, on a GPU also bf16; else an `Error` that names `who`.
template <typename Body>
decltype(auto) with_kernels(std::string_view who, const Tensor& x, Body&& body) {
  const bool device = x.device().kind != Device::Kind::Cpu;
  check(x.dtype() == DType::F32 || x.dtype() == DType::F64 || (device && x.dtype() == DType::BF16), "{}: needs {}, got {}", who,
        device ? "f32, f64 or bf16" : "f32 or f64", x.dtype());
  const kernels::Tables& tables = kernels::tables_on(x.device().kind);
  switch (x.dtype()) {
    case DType::F32: return std::forward<Body>(body)(tables.f32);
    case DType::F64: return std::forward<Body>(body)(tables.f64);
    default: return std::forward<Body>(body)(tables.b16);
  }
}

}  // namespace ringlet
