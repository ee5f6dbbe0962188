#include "collectives/reduce.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <type_traits>

namespace ringlet {
namespace {

constexpr size_t kBlock = 512;  // elements; log2(P) + 1 blocks of at most 4 KB are in use at a time

// The type in which T is reduced: bf16 in fp32, signed integers in unsigned ones, where overflow wraps by definition.
// (Wrapping sums and products have the same bits signed and unsigned. Comparisons do not, and stay in T.)
template <typename T>
using Sum = std::conditional_t<std::is_same_v<T, bf16>, float, T>;

template <typename A>
A wrapping_add(A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    using U = std::make_unsigned_t<A>;
    return static_cast<A>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  } else {
    return a + b;
  }
}

template <typename A>
A wrapping_multiply(A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    using U = std::make_unsigned_t<A>;
    return static_cast<A>(static_cast<U>(static_cast<U>(a) * static_cast<U>(b)));  // u8 · u8 fits into int
  } else {
    return a * b;
  }
}

// a != a is true of NaN alone; a NaN in b makes the comparison false, so b is taken. Equal numbers of floats differ in bits only as
// zeros, of which −0 is the smaller: else the result would depend on the order of ranks.
template <typename A>
bool is_negative_zero(A a, A b) {
  if constexpr (std::is_floating_point_v<A>) {
    return a == b && std::signbit(a);
  } else {
    return false;
  }
}
template <typename A>
A smaller(A a, A b) {
  return (a < b || a != a || is_negative_zero(a, b)) ? a : b;
}
template <typename A>
A larger(A a, A b) {
  return (a > b || a != a || is_negative_zero(b, a)) ? a : b;
}

// Calls f(∘) with the binary operation of `op`.
template <typename A, typename F>
void with_operation(ReduceOp op, F&& f) {
  switch (op) {
    case ReduceOp::Sum:
    case ReduceOp::PreMulSum:
    case ReduceOp::Avg: f([](A a, A b) { return wrapping_add(a, b); }); return;
    case ReduceOp::Min: f([](A a, A b) { return smaller(a, b); }); return;
    case ReduceOp::Max: f([](A a, A b) { return larger(a, b); }); return;
    case ReduceOp::Prod: f([](A a, A b) { return wrapping_multiply(a, b); }); return;
  }
}

template <typename A, typename T>
A widen(T x) {
  return static_cast<A>(x);
}

// What an input becomes before it is added: f·x, or x. (Times 1 would be the same bits, at the price of a multiplication.)
template <typename A>
struct Scaled {
  A factor;
  A operator()(A x) const { return x * factor; }
};
template <typename A>
struct Plain {
  A operator()(A x) const { return x; }
};

// acc[0, n) = T(inputs) at elements offset … offset + n.
template <typename T, typename A, typename Load, typename Combine>
void tree(std::span<const T* const> inputs, size_t offset, size_t n, A* acc, Load load, Combine combine_two) {
  if (inputs.size() == 1) {
    const T* a = inputs[0] + offset;
    for (size_t i = 0; i < n; ++i) {
      acc[i] = load(widen<A>(a[i]));
    }
    return;
  }
  if (inputs.size() == 2) {
    const T* a = inputs[0] + offset;
    const T* b = inputs[1] + offset;
    for (size_t i = 0; i < n; ++i) {
      acc[i] = combine_two(load(widen<A>(a[i])), load(widen<A>(b[i])));
    }
    return;
  }
  const size_t half = std::bit_ceil(inputs.size()) / 2;  // the largest power of two below the size
  alignas(64) std::array<A, kBlock> rest;
  tree(inputs.first(half), offset, n, acc, load, combine_two);
  tree(inputs.subspan(half), offset, n, rest.data(), load, combine_two);
  for (size_t i = 0; i < n; ++i) {
    acc[i] = combine_two(acc[i], rest[i]);
  }
}

}  // namespace

std::string_view name_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::Sum: return "sum";
    case ReduceOp::Avg: return "avg";
    case ReduceOp::Min: return "min";
    case ReduceOp::Max: return "max";
    case ReduceOp::Prod: return "prod";
    case ReduceOp::PreMulSum: return "pre_mul_sum";
  }
  return "?";
}

std::string to_text(const Reduction& reduction) {
  return reduction.op == ReduceOp::PreMulSum ? message("{} {}", reduction.op, reduction.factor) : to_text(reduction.op);
}

namespace {

// out = T(inputs), where `load` is applied first and `finish` last.
template <Reducible T, typename A, typename Load, typename Combine, typename Finish>
void reduce_blocks(std::span<const T* const> inputs, std::span<T> out, Load load, Combine combine_two, Finish finish) {
  for (size_t offset = 0; offset < out.size(); offset += kBlock) {
    const size_t n = std::min(kBlock, out.size() - offset);
    alignas(64) std::array<A, kBlock> acc;  // not `out` itself, which may be an input still to be read
    tree(inputs, offset, n, acc.data(), load, combine_two);
    for (size_t i = 0; i < n; ++i) {
      out[offset + i] = static_cast<T>(finish(acc[i]));
    }
  }
}

}  // namespace

template <Reducible T>
void reduce_in_order(std::span<const T* const> inputs, std::span<T> out, Reduction op) {
  using A = Sum<T>;
  const Plain<A> as_it_is;
  if constexpr (std::is_floating_point_v<A>) {
    const auto add = [](A a, A b) { return a + b; };
    if (op.op == ReduceOp::PreMulSum) {
      return reduce_blocks<T, A>(inputs, out, Scaled<A>{static_cast<A>(op.factor)}, add, as_it_is);
    }
    if (op.op == ReduceOp::Avg) {
      const auto count = static_cast<A>(inputs.size());
      return reduce_blocks<T, A>(inputs, out, as_it_is, add, [count](A sum) { return sum / count; });
    }
  }
  with_operation<A>(op.op, [&](auto combine_two) { reduce_blocks<T, A>(inputs, out, as_it_is, combine_two, as_it_is); });
}

template <Reducible T>
void combine(std::span<const T> lower, std::span<const T> higher, std::span<T> out, Reduction op) {
  assert(lower.size() == out.size() && higher.size() == out.size());
  using A = Sum<T>;
  const T* a = lower.data();
  const T* b = higher.data();
  T* y = out.data();
  with_operation<A>(op.op, [&](auto combine_two) {
    for (size_t i = 0; i < out.size(); ++i) {
      y[i] = static_cast<T>(combine_two(widen<A>(a[i]), widen<A>(b[i])));
    }
  });
}

template <Reducible T>
void begin_reduction(std::span<T> data, Reduction op) {
  if (op.op != ReduceOp::PreMulSum) {
    return;
  }
  using A = Sum<T>;
  for (T& x : data) {
    x = static_cast<T>(static_cast<A>(widen<A>(x) * static_cast<A>(op.factor)));
  }
}

template <Reducible T>
void finish_reduction(std::span<T> data, Reduction op, int n) {
  if (op.op != ReduceOp::Avg) {
    return;
  }
  using A = Sum<T>;
  for (T& x : data) {
    x = static_cast<T>(static_cast<A>(widen<A>(x) / static_cast<A>(n)));
  }
}

#define RINGLET_INSTANTIATE(T)                                                               \
  template void reduce_in_order<T>(std::span<const T* const>, std::span<T>, Reduction);      \
  template void combine<T>(std::span<const T>, std::span<const T>, std::span<T>, Reduction); \
  template void begin_reduction<T>(std::span<T>, Reduction);                                 \
  template void finish_reduction<T>(std::span<T>, Reduction, int);
RINGLET_INSTANTIATE(float)
RINGLET_INSTANTIATE(double)
RINGLET_INSTANTIATE(bf16)
RINGLET_INSTANTIATE(int32_t)
RINGLET_INSTANTIATE(int64_t)
RINGLET_INSTANTIATE(uint8_t)
#undef RINGLET_INSTANTIATE

}  // namespace ringlet
