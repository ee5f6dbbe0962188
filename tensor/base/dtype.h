// The types of number that a tensor or a collective may hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tensor/base/bf16.h"
#include "tensor/base/check.h"

namespace ringlet {

enum class DType : uint8_t { F32, F64, BF16, I32, I64, U8 };

/// Bytes of one element.
constexpr size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::F32: return 4;
    case DType::F64: return 8;
    case DType::BF16: return 2;
    case DType::I32: return 4;
    case DType::I64: return 8;
    case DType::U8: return 1;
  }
  return 0;
}

/// "f32", "f64", "bf16", "i32", "i64", "u8".
std::string_view name_of(DType dtype);
inline std::string to_text(DType dtype) { return std::string(name_of(dtype)); }

constexpr bool is_floating(DType dtype) { return dtype == DType::F32 || dtype == DType::F64 || dtype == DType::BF16; }

template <typename T>
struct DTypeOf;
// clang-format off
template <> struct DTypeOf<float> { static constexpr DType value = DType::F32; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::F64; };
template <> struct DTypeOf<bf16> { static constexpr DType value = DType::BF16; };
template <> struct DTypeOf<int32_t> { static constexpr DType value = DType::I32; };
template <> struct DTypeOf<int64_t> { static constexpr DType value = DType::I64; };
template <> struct DTypeOf<uint8_t> { static constexpr DType value = DType::U8; };
// clang-format on

/// The type in which numbers of type T are added up: f32 for bf16, else T.
template <typename T>
using Accumulator = std::conditional_t<std::is_same_v<T, bf16>, float, T>;

/// The dtype whose elements are a C++ `T`.
template <typename T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

/// Calls `f.template operator()<T>()` with the C++ type of `dtype`: any of the six.
template <typename F>
decltype(auto) dispatch_all(DType dtype, F&& f) {
  switch (dtype) {
    case DType::F32: return std::forward<F>(f).template operator()<float>();
    case DType::F64: return std::forward<F>(f).template operator()<double>();
    case DType::BF16: return std::forward<F>(f).template operator()<bf16>();
    case DType::I32: return std::forward<F>(f).template operator()<int32_t>();
    case DType::I64: return std::forward<F>(f).template operator()<int64_t>();
    case DType::U8: break;
  }
  return std::forward<F>(f).template operator()<uint8_t>();
}

/// The same for the two types in which arithmetic is done; anything else is an `Error` that names `who`.
template <typename F>
decltype(auto) dispatch_real(std::string_view who, DType dtype, F&& f) {
  check(dtype == DType::F32 || dtype == DType::F64, "{}: needs f32 or f64, got {}", who, dtype);
  if (dtype == DType::F32) {
    return std::forward<F>(f).template operator()<float>();
  }
  return std::forward<F>(f).template operator()<double>();
}

}  // namespace ringlet
