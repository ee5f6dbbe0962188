// The arithmetic of reductions, on one rank.
//
// Order T over inputs x0 … x(n−1), the order of every float reduction of ringlet:
//   T(1) = x0      T(n) = T(first 2^k) + T(rest)      2^k the largest power of two below n
// It is what a binary counter of partial sums computes, and a binomial tree, and recursive doubling; so they agree to the bit.
#pragma once

#include <algorithm>
#include <span>

#include "collectives/buffer.h"
#include "collectives/reduce_op.h"

namespace ringlet {

/// out[i] = reduction over k, in order T, of inputs[k][i]; Avg divides the sum once, PreMulSum scales every input. bf16: fp32
/// inside, one rounding.
/// `out` may be one of the inputs. Reads every input once and works block by block: no temporary outside the first cache.
template <Reducible T>
void reduce_in_order(std::span<const T* const> inputs, std::span<T> out, Reduction op);

/// One node of the tree: out = lower ∘ higher, where ∘ adds for Avg and PreMulSum. `out` may be either operand. bf16 is rounded here, so
/// only `reduce_in_order` gives a bf16 reduction its one rounding.
template <Reducible T>
void combine(std::span<const T> lower, std::span<const T> higher, std::span<T> out, Reduction op);

/// mine = mine ∘ theirs.
template <Reducible T>
void reduce_into(std::span<T> mine, std::span<const T> theirs, Reduction op) {
  combine<T>(mine, theirs, mine, op);
}

/// The first step of a pre-scaled sum, on every input: data = factor·data. Nothing for the other operations.
template <Reducible T>
void begin_reduction(std::span<T> data, Reduction op);

/// `in`, or where `op` scales it f·in, written into `box`.
template <Reducible T>
std::span<const T> scaled(std::span<const T> in, std::span<T> box, Reduction op) {
  if (op.op != ReduceOp::PreMulSum) {
    return in;
  }
  std::copy(in.begin(), in.end(), box.begin());
  begin_reduction<T>(box.first(in.size()), op);
  return box.first(in.size());
}

/// The last step of an average over n inputs: data = data / n. Nothing for the other operations.
template <Reducible T>
void finish_reduction(std::span<T> data, Reduction op, int n);

}  // namespace ringlet
