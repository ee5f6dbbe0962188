// The product without cuBLASLt: any strides, any extent, and one order of every sum.
#pragma once

#include "tensor/kernels/cpu/matmul.h"

namespace ringlet::kernels::cuda {

/// Where a sum begins, and what is added to it at the end.
template <typename T>
struct Ends {
  bool from_c;    // at c[i, j], else at 0
  const T* bias;  // [N], or null
};

/// c[i, j] = fma(a[i, K−1], b[K−1, j], … fma(a[i, 0], b[0, j], begin)) + bias[j], in fp32 for bf16, rounded once.
template <typename T>
void matmul_clear(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc, Ends<T> ends);

}  // namespace ringlet::kernels::cuda
