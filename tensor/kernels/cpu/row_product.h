// Small products for attention: B is read where it lies, row by row, without packing. Each element is the chain of fused
// multiply-adds over ascending k that matmul.h promises, so the bits are the same.
#pragma once

#include "tensor/kernels/cpu/matmul.h"
#include "tensor/kernels/cpu/simd.h"

namespace ringlet::kernels {

/// Whether a product starts from zero or goes on from the values in C.
enum class From { Zero, C };

// V registers of one row of numbers; of the last register only the first `lanes` count.
template <int V, typename T>
struct RowOf {
  using L = Simd<T>;
  L v[V];

  static RowOf load(const T* p, int64_t lanes) {
    RowOf row;
    for (int i = 0; i + 1 < V; ++i) row.v[i] = L::load(p + i * L::kWidth);
    row.v[V - 1] = L::load_first(p + (V - 1) * L::kWidth, lanes);
    return row;
  }
  void store(T* p, int64_t lanes) const {
    for (int i = 0; i + 1 < V; ++i) v[i].store(p + i * L::kWidth);
    v[V - 1].store_first(p + (V - 1) * L::kWidth, lanes);
  }
};

// R rows by V registers of C, in registers while k runs.
template <From kFrom, int R, int V, typename T>
void row_product_tile(int64_t K, int64_t lanes, MatrixView<T> A, const T* B, int64_t ldb, T* C, int64_t ldc) {
  using L = Simd<T>;
  RowOf<V, T> c[R];
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
    if constexpr (kFrom == From::C) {
      c[i] = RowOf<V, T>::load(C + i * ldc, lanes);
    } else {
      for (L& v : c[i].v) v = L::broadcast(T{0});
    }
  }
  for (int64_t k = 0; k < K; ++k) {
    const auto b = RowOf<V, T>::load(B + k * ldb, lanes);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      const L a = L::broadcast(A(i, k));
      for (int v = 0; v < V; ++v) c[i].v[v] = L::fma(a, b.v[v], c[i].v[v]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) c[i].store(C + i * ldc, lanes);
}

// All rows: eight at a time, what is left in halves.
template <From kFrom, int R, int V, typename T>
void row_product_rows(int64_t M, int64_t K, int64_t lanes, MatrixView<T> A, const T* B, int64_t ldb, T* C, int64_t ldc) {
  int64_t i = 0;
  for (; i + R <= M; i += R) {
    row_product_tile<kFrom, R, V>(K, lanes, A.at(i, 0), B, ldb, C + i * ldc, ldc);
  }
  if constexpr (R > 1) {
    row_product_rows<kFrom, R / 2, V>(M - i, K, lanes, A.at(i, 0), B, ldb, C + i * ldc, ldc);
  }
}

/// C = A·B, or C += A·B.   A: [M, K]   B: [K, N], row k at b + k·ldb   C: [M, N], row i at c + i·ldc. On the calling thread.
template <From kFrom, typename T>
void row_product(int64_t M, int64_t N, int64_t K, MatrixView<T> A, const T* B, int64_t ldb, T* C, int64_t ldc) {
  constexpr int64_t kWidth = Simd<T>::kWidth;
  constexpr int kRows = kTileRows >= 8 ? 8 : 4;
  for (int64_t j = 0; j < N; j += 2 * kWidth) {
    const int64_t columns = N - j;
    if (columns > kWidth) {
      row_product_rows<kFrom, kRows, 2>(M, K, columns < 2 * kWidth ? columns - kWidth : kWidth, A, B + j, ldb, C + j, ldc);
    } else {
      row_product_rows<kFrom, kRows, 1>(M, K, columns, A, B + j, ldb, C + j, ldc);
    }
  }
}

}  // namespace ringlet::kernels
