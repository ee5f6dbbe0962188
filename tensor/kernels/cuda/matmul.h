// The twins of cpu/matmul.h on a GPU. By cuBLASLt where it has a kernel for the shape, else by the clear form. bf16 is added up in fp32
// and rounded once.
#pragma once

#include "tensor/kernels/cpu/matmul.h"

namespace ringlet::kernels::cuda {

/// In fp32 and fp64 with the bits of the CPU's: one chain of fused multiply-adds over ascending k.
template <typename T>
void matmul_add_clear(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc);

// These take an order of their own, which depends on the shape, the strides and whether all pointers are multiples of 16 bytes: the
// same call gives the same bits again on the same model of GPU with the same cuBLAS.
template <typename T>
void matmul_add(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc);
template <typename T>
void matmul(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C);
/// The lists of offsets lie on the host.
template <typename T>
void matmul_batched(int64_t batches, int64_t M, int64_t N, int64_t K, MatrixView<T> A, const int64_t* a_offset, MatrixView<T> B,
                    const int64_t* b_offset, T* C);
template <typename T>
void linear(int64_t M, int64_t N, int64_t K, MatrixView<T> x, MatrixView<T> W, const T* b, T* y);

/// Gpu::allow_tf32.
void allow_tf32(bool allowed);

}  // namespace ringlet::kernels::cuda
