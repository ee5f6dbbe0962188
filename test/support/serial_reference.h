// What a collective must give, computed on one rank in the plainest way: the input of every rank is a pure function of (rank,
// index), so each rank can compute everybody's and compare its own output to the bit.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "collectives/buffer.h"
#include "collectives/reduce_op.h"
#include "tensor/base/hash.h"

namespace ringlet::test {

/// Element i of rank r's input. Floats: random sign and mantissa, magnitudes from 1/16 to 16, so that a sum depends on its
/// order and a product of 16 stays in range. Integers: all bits random, so that sums wrap.
template <Reducible T>
T input_value(int rank, int64_t i, uint64_t seed = 0) {
  const uint64_t random = mix64(mix64(seed * 1000 + static_cast<uint64_t>(rank)) + static_cast<uint64_t>(i));
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random);
  } else {
    const double mantissa = 1.0 + static_cast<double>(random >> 12) * 0x1p-52;
    const double magnitude = std::ldexp(mantissa, static_cast<int>(random % 8) - 4);
    return static_cast<T>((random >> 3) % 2 == 0 ? magnitude : -magnitude);
  }
}

template <Reducible T>
std::vector<T> input_of(int rank, int64_t n, uint64_t seed = 0) {
  std::vector<T> values(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    values[static_cast<size_t>(i)] = input_value<T>(rank, i, seed);
  }
  return values;
}

template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, bf16>, float, T>;  // the type in which T is reduced

template <typename A>
A apply(ReduceOp op, A a, A b) {
  switch (op) {
    case ReduceOp::Min: return std::isnan(static_cast<double>(a)) ? a : std::isnan(static_cast<double>(b)) ? b : std::min(a, b);
    case ReduceOp::Max: return std::isnan(static_cast<double>(a)) ? a : std::isnan(static_cast<double>(b)) ? b : std::max(a, b);
    default: break;
  }
  if constexpr (std::is_integral_v<A>) {  // modulo 2^64 first, then cut to the type: wraps whatever its width
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<A>(op == ReduceOp::Prod ? x * y : x + y);
  } else {
    return op == ReduceOp::Prod ? a * b : a + b;
  }
}

/// T(x0 … x(n−1)) as design states it: T(n) = T(first 2^k) ∘ T(rest).
template <typename A>
A in_order_t(ReduceOp op, std::span<const A> x, size_t first, size_t n) {
  if (n == 1) {
    return x[first];
  }
  size_t power = 1;
  while (2 * power < n) {
    power *= 2;
  }
  return apply(op, in_order_t(op, x, first, power), in_order_t(op, x, first + power, n - power));
}

/// Element i of the reduction over `ranks` ranks, at most 64.
template <Reducible T>
T reduced_value(Reduction op, int ranks, int64_t i, uint64_t seed = 0) {
  using A = Wide<T>;
  std::array<A, 64> x{};
  for (int r = 0; r < ranks; ++r) {
    x[static_cast<size_t>(r)] = static_cast<A>(input_value<T>(r, i, seed));
    if (op.op == ReduceOp::PreMulSum) {
      x[static_cast<size_t>(r)] = static_cast<A>(x[static_cast<size_t>(r)] * static_cast<A>(op.factor));
    }
  }
  const A total = in_order_t<A>(op.op, x, 0, static_cast<size_t>(ranks));
  return static_cast<T>(op.op == ReduceOp::Avg ? static_cast<A>(total / static_cast<A>(ranks)) : total);
}

/// The same bits; two NaNs are the same whatever their payload.
template <Reducible T>
bool same_bits(T a, T b) {
  if constexpr (std::is_same_v<T, bf16>) {
    return a.bits == b.bits;
  } else if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (std::isnan(a) && std::isnan(b));
  } else {
    return a == b;
  }
}

}  // namespace ringlet::test
