// The matrix product, twice: three loops that say what it is, and the tiled form that gives the same bits near the speed of the
// fused multiply-add units.
#pragma once

#include <cstdint>

namespace ringlet::kernels {

/// A matrix to read, through two strides: element (i, j) is data[i·row + j·col]. A transpose swaps the strides.
template <typename T>
struct MatrixView {
  const T* data;
  int64_t row;
  int64_t col;

  constexpr const T& operator()(int64_t i, int64_t j) const { return data[i * row + j * col]; }
  constexpr MatrixView at(int64_t i, int64_t j) const { return {data + i * row + j * col, row, col}; }
};

/// C += A·B:  c[i,j] = fma(a[i,K-1], b[K-1,j], … fma(a[i,0], b[0,j], c[i,j])).   A: [M, K]   B: [K, N]   C: [M, N], row i at c + i·ldc.
/// The clear form: what the other one is tested against, bit for bit.
template <typename T>
void matmul_add_clear(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc);

/// The same, tiled (Goto & van de Geijn, 2008): a tile of C lives in registers while k runs; B goes by in packed panels from the
/// first-level cache. Threads take whole tiles, never a part of k. C must not overlap A or B.
template <typename T>
void matmul_add(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc);

/// The tiled form on the calling thread only: for callers that already run one block per thread.
template <typename T>
void matmul_add_serial(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc);

/// C = A·B with C contiguous: the same bits as matmul_add into zeros.
template <typename T>
void matmul(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C);

/// `batches` products: number i is of A and B at a_offset[i] and b_offset[i] elements, into C + i·M·N. Each runs on one thread.
template <typename T>
void matmul_batched(int64_t batches, int64_t M, int64_t N, int64_t K, MatrixView<T> A, const int64_t* a_offset, MatrixView<T> B,
                    const int64_t* b_offset, T* C);

/// y = x·W + b, the bias added last.   x: [M, K]   W: [K, N]   b: [N]   y: [M, N] contiguous
template <typename T>
void linear(int64_t M, int64_t N, int64_t K, MatrixView<T> x, MatrixView<T> W, const T* b, T* y);

}  // namespace ringlet::kernels
