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

/// Numbers the keys: padded[b, j] != 0 is padding; null pads nothing, and then `kept` is 0 .. T−1.   padded, seen, kept: [B, T]
void attention_keys(int64_t B, int64_t T, const uint8_t* padded, int32_t* seen, int32_t* kept);

/// A probability of 0 draws nothing; `stream` may then be null.
struct AttentionDrop {
  double p;
  const RandomStream* stream;
};

/// Elements of T that the two kernels need as scratch.
int64_t attention_scratch(const AttentionSizes& sizes, bool padding);

/// y: [B, T, C]   log_sum: [B, H, T].
template <typename T>
void attention(const AttentionSizes& sizes, const AttentionKeys& keys, const AttentionDrop& drop, const T* qkv, T* y,
               double* log_sum, T* scratch);

/// dqkv: [B, T, 3C], zeros at the start.
template <typename T>
void attention_backward(const AttentionSizes& sizes, const AttentionKeys& keys, const AttentionDrop& drop, const T* dy,
                        const T* qkv, const double* log_sum, T* dqkv, T* scratch);

}  // namespace ringlet::kernels
