// What the kernels of attention know of their head: where its rows lie, which keys a row sees, which probabilities dropout keeps.
#pragma once

#include <cmath>
#include <cstdint>

#include "tensor/base/dtype.h"
#include "tensor/base/philox.h"
#include "tensor/kernels/cpu/attention.h"
#include "tensor/kernels/cpu/dropout.h"
#include "tensor/kernels/cuda/launch.h"

namespace ringlet::kernels::cuda {

/// Probability number i is multiplied by `scale` where number i of the stream is at least `threshold`, else by 0.
template <typename A>
struct AttentionMask {
  uint64_t key, index;
  const uint64_t* index_at;  // in place of `index`, unless null
  float threshold;           // 0: nothing is dropped, nothing drawn
  A scale;
};

template <typename A>
AttentionMask<A> mask_of(const AttentionDrop& drop) {
  if (drop.p == 0) {
    return {0, 0, nullptr, 0, A(1)};
  }
  return {drop.stream->key(), drop.stream->index(), drop.stream->index_at(), dropout_threshold(drop.p),
          static_cast<A>(1.0 / (1.0 - drop.p))};
}

/// The mask, number by number. A block of Philox is four neighbouring numbers; it is drawn anew only where another one begins.
template <typename A>
class MaskNumbers {
 public:
  __device__ explicit MaskNumbers(const AttentionMask<A>& mask) : mask_(mask) {}
  __device__ A operator()(uint64_t i) {
    if (mask_.threshold == 0) {
      return mask_.scale;
    }
    if (i / 4 != block_) {
      block_ = i / 4;
      const uint64_t index = mask_.index_at == nullptr ? mask_.index : *mask_.index_at;  // a register held would cost more
      words_ = philox_rounds(philox_counter(index, block_), mask_.key);
    }
    const uint32_t word = i % 4 < 2 ? (i % 4 == 0 ? words_.a : words_.b) : (i % 4 == 2 ? words_.c : words_.d);
    return uniform_of(word) >= mask_.threshold ? mask_.scale : A(0);
  }

 private:
  const AttentionMask<A>& mask_;
  uint64_t block_ = ~uint64_t{0};
  PhiloxWords words_{};
};

/// The arguments that all kernels of attention have.
template <typename T>
struct AttentionCall {
  AttentionSizes sizes;
  AttentionKeys keys;
  AttentionMask<Accumulator<T>> mask;
  Accumulator<T> scale;  // 1/√D
  const T* qkv;

  AttentionCall(const AttentionSizes& s, const AttentionKeys& k, const AttentionDrop& drop, const T* data)
      : sizes(s),
        keys(k),
        mask(mask_of<Accumulator<T>>(drop)),
        scale(Accumulator<T>(1) / std::sqrt(static_cast<Accumulator<T>>(s.D))),
        qkv(data) {}
};

/// Those of the gradient.
template <typename T>
struct AttentionGradientCall : AttentionCall<T> {
  AttentionGradientCall(const AttentionCall<T>& forward, const T* gradient, const double* sums, Accumulator<T>* dots, T* to)
      : AttentionCall<T>(forward), dy(gradient), log_sum(sums), dot(dots), dqkv(to) {}
  const T* dy;
  const double* log_sum;
  Accumulator<T>* dot;  // [B, H, T]   Σ_j dp·p, which one kernel leaves to the next
  T* dqkv;

  __device__ int64_t channels() const { return this->sizes.H * this->sizes.D; }
  /// From the first element of all heads to that of this one, in something with rows of that length.
  __device__ int64_t offset(int64_t index, int64_t row_length) const {
    return index / this->sizes.H * this->sizes.T * row_length + index % this->sizes.H * this->sizes.D;
  }
};

/// One head.
template <typename T>
struct AttentionHead {
  __device__ AttentionHead(const AttentionCall<T>& call, int64_t index)
      : length(static_cast<int>(call.sizes.T)),
        columns(static_cast<int>(call.sizes.D)),
        stride(3 * call.sizes.H * call.sizes.D),
        q(call.qkv + index / call.sizes.H * call.sizes.T * stride + index % call.sizes.H * call.sizes.D),
        k(q + call.sizes.H * call.sizes.D),
        v(k + call.sizes.H * call.sizes.D),
        seen(call.keys.seen + index / call.sizes.H * call.sizes.T),
        kept(call.keys.kept == nullptr ? nullptr : call.keys.kept + index / call.sizes.H * call.sizes.T),
        first_row(index * call.sizes.T) {}

  /// How many keys row i sees; a row beyond the end sees none.
  __device__ int sees(int i) const { return i < length ? seen[i] : 0; }
  /// Where key number j stands. Row i sees it where i is not before that.
  __device__ int position(int j) const { return kept == nullptr ? j : kept[j]; }
  /// The number that decides over key j of row i.
  __device__ uint64_t mask_number(int i, int j) const { return mask_number_at(i, position(j)); }
  /// Of the key that stands there.
  __device__ uint64_t mask_number_at(int i, int at) const { return static_cast<uint64_t>((first_row + i) * length + at); }

  int length, columns;  // T, D
  int64_t stride;       // from one row of q, k or v to the next
  const T *q, *k, *v;
  const int32_t *seen, *kept;
  int64_t first_row;  // of all rows of all heads
};

/// Calls `start.template operator()<columns>()` with 32, 64 or 128, the least that D fits into.
template <typename Start>
void with_columns(int64_t D, Start&& start) {
  check(D <= 128, "attention: heads of at most 128 numbers on a GPU, got {}", D);
  if (D <= 32) {
    start.template operator()<32>();
  } else if (D <= 64) {
    start.template operator()<64>();
  } else {
    start.template operator()<128>();
  }
}

}  // namespace ringlet::kernels::cuda
