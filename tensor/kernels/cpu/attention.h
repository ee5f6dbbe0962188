// Masked multi-head attention and its gradient, head by head, over blocks of rows whose scores stay in the cache.
#pragma once

#include <cstdint>

#include "tensor/base/random.h"

namespace ringlet::kernels {

struct AttentionSizes {
  int64_t B, T, H, D;  // C = H·D columns of y; qkv has 3C
};

/// Which keys a row may look at. Keys that are no padding are numbered anew, without gaps.
struct AttentionKeys {
  const int32_t* seen;  // [B, T]   how many keys row i sees: those j ≤ i that are no padding
  const int32_t* kept;  // [B, T]   the position of key number 0, 1, …; null when there is no padding
};

/// A probability of 0 draws nothing; `stream` may then be null.
struct AttentionDrop {
  double p;
  const RandomStream* stream;
};

/// Elements of T in one slot of scratch. There is one slot, or one per head where heads run at the same time.
int64_t attention_scratch(const AttentionSizes& sizes, bool padding);
int64_t attention_slots(const AttentionSizes& sizes);

/// y: [B, T, C]   log_sum: [B, H, T].
template <typename T>
void attention(const AttentionSizes& sizes, const AttentionKeys& keys, const AttentionDrop& drop, const T* qkv, T* y,
               double* log_sum, T* scratch);

/// dqkv: [B, T, 3C], zeros at the start.
template <typename T>
void attention_backward(const AttentionSizes& sizes, const AttentionKeys& keys, const AttentionDrop& drop, const T* dy,
                        const T* qkv, const double* log_sum, T* dqkv, T* scratch);

}  // namespace ringlet::kernels
