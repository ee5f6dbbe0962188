// The twins of cpu/attention.h on a GPU: pointers are device pointers, and the calls return before the result is there.
#pragma once

#include "tensor/kernels/cpu/attention.h"

namespace ringlet::kernels::cuda {

void attention_keys(int64_t B, int64_t T, const uint8_t* padded, int32_t* seen, int32_t* kept);

int64_t attention_scratch(const AttentionSizes& sizes, bool padding);

/// Heads of at most 128 numbers, else an `Error`.
template <typename T>
void attention(const AttentionSizes& sizes, const AttentionKeys& keys, const AttentionDrop& drop, const T* qkv, T* y,
               double* log_sum, T* scratch);
template <typename T>
void attention_backward(const AttentionSizes& sizes, const AttentionKeys& keys, const AttentionDrop& drop, const T* dy,
                        const T* qkv, const double* log_sum, T* dqkv, T* scratch);

/// The same on the fused multiply-add units alone: what fp32 and fp64 take, and bf16 where tensor cores do not fit
/// (attention_tensor_core.h).
template <typename T>
void attention_simt(const AttentionSizes& sizes, const AttentionKeys& keys, const AttentionDrop& drop, const T* qkv, T* y,
                    double* log_sum);
template <typename T>
void attention_backward_simt(const AttentionSizes& sizes, const AttentionKeys& keys, const AttentionDrop& drop, const T* dy,
                             const T* qkv, const double* log_sum, T* dqkv, T* scratch);

}  // namespace ringlet::kernels::cuda
