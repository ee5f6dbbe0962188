#include "test/emulated_gpu/nccl/arithmetic.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tensor/base/bf16.h"

namespace ringlet::emulated_gpu {
namespace {

// Calls body with a value of the type.
template <typename F>
void with_type(ncclDataType_t type, F&& body) {
  switch (type) {
    case ncclFloat32: return body(float{});
    case ncclFloat64: return body(double{});
    case ncclBfloat16: return body(bf16{});
    case ncclInt32: return body(uint32_t{});  // sums and products wrap alike; comparisons look at the sign (below)
    case ncclInt64: return body(uint64_t{});
    default: return body(uint8_t{});
  }
}

template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, bf16>, float, T>;

template <typename T>
bool less(T a, T b, bool is_signed) {
  if constexpr (std::is_integral_v<T>) {
    using S = std::make_signed_t<T>;
    return is_signed ? static_cast<S>(a) < static_cast<S>(b) : a < b;
  } else {
    return a < b;
  }
}

template <typename T>
T combine(ncclRedOp_t op, T a, T b, bool is_signed) {
  const auto x = static_cast<Wide<T>>(a), y = static_cast<Wide<T>>(b);
  switch (op) {
    case ncclProd: return static_cast<T>(x * y);
    case ncclMax:
    case ncclMin:
      if constexpr (!std::is_integral_v<T>) {
        return static_cast<T>(op == ncclMax ? std::fmax(x, y) : std::fmin(x, y));
      }
      return less(x, y, is_signed) == (op == ncclMax) ? b : a;
    default: return static_cast<T>(x + y);
  }
}

}  // namespace

size_t size_of(ncclDataType_t type) {
  size_t size = 0;
  with_type(type, [&](auto zero) { size = sizeof(zero); });
  return size;
}

double value_of(const void* scalar, ncclDataType_t type) {
  double value = 0;
  with_type(type, [&](auto x) {
    std::memcpy(&x, scalar, sizeof(x));
    value = static_cast<double>(static_cast<Wide<decltype(x)>>(x));
  });
  return value;
}

void reduce_round(const std::vector<const std::byte*>& inputs, size_t first, std::byte* out, size_t n, ncclDataType_t type,
                  const Operator& op) {
  const bool is_signed = type == ncclInt32 || type == ncclInt64;
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const auto factor = static_cast<Wide<T>>(static_cast<T>(static_cast<Wide<T>>(op.factor)));
    for (size_t i = 0; i < n; ++i) {
      const auto load = [&](size_t k) {
        T x;
        std::memcpy(&x, inputs[k % inputs.size()] + i * sizeof(T), sizeof(T));
        return op.scales ? static_cast<T>(static_cast<Wide<T>>(x) * factor) : x;
      };
      T sum = load(first);
      for (size_t k = 1; k < inputs.size(); ++k) {
        sum = combine(op.op, sum, load(first + k), is_signed);
      }
      std::memcpy(out + i * sizeof(T), &sum, sizeof(T));
    }
  });
}

}  // namespace ringlet::emulated_gpu
