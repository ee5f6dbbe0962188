// Attention in bf16 by tensor cores, whose peak on an H200 is 15 times that of its fp32 units (989 and 67 Tflop/s by the data sheet).
// attention_simt (attention.h) says what it does.
#pragma once

#include "tensor/base/bf16.h"
#include "tensor/kernels/cpu/attention.h"

namespace ringlet::kernels::cuda {

/// Whether the two below take it: heads of 32, 64 or 128 numbers, and every pointer a multiple of 16 bytes.
bool fits_tensor_cores(const AttentionSizes& sizes, const bf16* a, const bf16* b, const bf16* c);

/// Scores and sums in fp32; the probabilities, and their gradients, are rounded to bf16 before they are multiplied.
void attention_tensor_core(const AttentionSizes& sizes, const AttentionKeys& keys, const AttentionDrop& drop, const bf16* qkv,
                           bf16* y, double* log_sum);
void attention_backward_tensor_core(const AttentionSizes& sizes, const AttentionKeys& keys, const AttentionDrop& drop,
                                    const bf16* dy, const bf16* qkv, const double* log_sum, bf16* dqkv, float* dot);

}  // namespace ringlet::kernels::cuda
