#include "tensor/kernels/cpu/matmul.h"

#include <algorithm>
#include <cmath>

#include "tensor/kernels/cpu/parallel.h"
#include "tensor/kernels/cpu/simd.h"

namespace ringlet::kernels {
namespace {

constexpr int64_t kRows = 64;      // rows of C in one block of work: they share each packed panel of B
constexpr int64_t kColumns = 256;  // columns of C in one block: they share a packed A
constexpr int64_t kDepth = 256;    // k per pass: a panel of B (32 columns of fp32) then fills 32 KB, the first-level cache
constexpr int kTile = kTileRows;

template <typename T>
constexpr int64_t kPanel = 2 * Simd<T>::kWidth;  // columns of a tile: two registers

// A tile of R rows and V registers of columns:  c[i, :] += Σ_k a[i, k]·b[k, :], k ascending. B is packed, kPanel apart.
template <int R, int V, typename T>
void tile(int64_t depth, MatrixView<T> A, const T* B, T* C, int64_t ldc) {
  using L = Simd<T>;
  L c[R][V];
  for (int i = 0; i < R; ++i) {
    for (int v = 0; v < V; ++v) c[i][v] = L::load(C + i * ldc + v * L::kWidth);
  }
  for (int64_t k = 0; k < depth; ++k) {
    L b[V];
    for (int v = 0; v < V; ++v) b[v] = L::load(B + k * kPanel<T> + v * L::kWidth);
    for (int i = 0; i < R; ++i) {
      const L a = L::broadcast(A(i, k));
      for (int v = 0; v < V; ++v) c[i][v] = L::fma(a, b[v], c[i][v]);
    }
  }
  for (int i = 0; i < R; ++i) {
    for (int v = 0; v < V; ++v) c[i][v].store(C + i * ldc + v * L::kWidth);
  }
}

// The same for `rows` <= R: the last rows of a block.
template <int R, int V, typename T>
void tile_of(int64_t rows, int64_t depth, MatrixView<T> A, const T* B, T* C, int64_t ldc) {
  if constexpr (R > 0) {
    rows == R ? tile<R, V>(depth, A, B, C, ldc) : tile_of<R - 1, V>(rows, depth, A, B, C, ldc);
  }
}

template <int V, typename T>
void tiles(int64_t rows, int64_t depth, MatrixView<T> A, const T* B, T* C, int64_t ldc) {
  for (int64_t i = 0; i < rows; i += kTile) {
    tile_of<kTile, V>(std::min<int64_t>(kTile, rows - i), depth, A.at(i, 0), B, C + i * ldc, ldc);
  }
}

// Fewer columns than a register has: through a copy of C whose rows are whole registers. The extra columns hold zeros.
template <typename T>
void tiles_of_few_columns(int64_t rows, int64_t columns, int64_t depth, MatrixView<T> A, const T* B, T* C, int64_t ldc) {
  constexpr int64_t width = Simd<T>::kWidth;
  T edge[kRows * width] = {};
  for (int64_t i = 0; i < rows; ++i) std::copy_n(C + i * ldc, columns, edge + i * width);
  tiles<1>(rows, depth, A, B, edge, width);
  for (int64_t i = 0; i < rows; ++i) std::copy_n(edge + i * width, columns, C + i * ldc);
}

// b[k, 0..columns) for k = 0 .. depth-1, in rows of kPanel, the missing columns zero.
template <typename T>
void pack_panel(int64_t depth, int64_t columns, MatrixView<T> B, T* panel) {
  if (B.col == 1 && columns == kPanel<T>) {
    for (int64_t k = 0; k < depth; ++k) std::copy_n(B.data + k * B.row, kPanel<T>, panel + k * kPanel<T>);
    return;
  }
  // A transposed B goes over in squares of registers; what is left, and any other stride, element by element.
  constexpr int64_t width = Simd<T>::kWidth;
  const int64_t square_columns = B.row == 1 ? columns / width * width : 0, square_depth = depth / width * width;
  for (int64_t j = 0; j < square_columns; j += width) {
    for (int64_t k = 0; k < square_depth; k += width) {
      transpose_square(B.at(k, j).data, B.col, panel + k * kPanel<T> + j, kPanel<T>);
    }
  }
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t k = j < square_columns ? square_depth : 0; k < depth; ++k) panel[k * kPanel<T> + j] = B(k, j);
  }
  for (int64_t j = columns; j < kPanel<T>; ++j) {
    for (int64_t k = 0; k < depth; ++k) panel[k * kPanel<T> + j] = T{0};
  }
}

// A transposed A whose rows lie far apart would touch a page per k: copied once per block, k by k, and read from there.
template <typename T>
MatrixView<T> near_columns(int64_t rows, int64_t depth, MatrixView<T> A, T* copy) {
  for (int64_t k = 0; k < depth; ++k) std::copy_n(A.data + k * A.col, rows, copy + k * kRows);
  return {copy, 1, kRows};
}

template <typename T>
void columns_of_block(int64_t rows, int64_t columns, int64_t depth, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc) {
  constexpr int64_t width = Simd<T>::kWidth;
  alignas(64) T panel[kDepth * kPanel<T>];
  for (int64_t j = 0; j < columns; j += kPanel<T>) {
    const int64_t here = std::min(kPanel<T>, columns - j);
    pack_panel(depth, here, B.at(0, j), panel);
    if (here == kPanel<T>) {
      tiles<2>(rows, depth, A, panel, C + j, ldc);
      continue;
    }
    if (here >= width) {
      tiles<1>(rows, depth, A, panel, C + j, ldc);
    }
    if (const int64_t rest = here % width; rest > 0) {
      tiles_of_few_columns(rows, rest, depth, A, panel + here - rest, C + j + here - rest, ldc);
    }
  }
}

// One block of work: up to kRows x kColumns of C, over all of k.
template <typename T>
void block_of(int64_t rows, int64_t columns, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc) {
  const bool far = A.row == 1 && A.col * static_cast<int64_t>(sizeof(T)) > 1024 && columns > kPanel<T>;
  alignas(64) T copy[kDepth * kRows];
  for (int64_t k = 0; k < K; k += kDepth) {
    const int64_t depth = std::min(kDepth, K - k);
    const MatrixView<T> a = far ? near_columns(rows, depth, A.at(0, k), copy) : A.at(0, k);
    columns_of_block(rows, columns, depth, a, B.at(k, 0), C, ldc);
  }
}

template <typename T, typename Run>
void for_blocks(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc, Run&& run) {
  const int64_t down = (M + kRows - 1) / kRows, across = (N + kColumns - 1) / kColumns;
  run(down * across, [=](int64_t block) {
    const int64_t i = block / across * kRows, j = block % across * kColumns;
    block_of(std::min(kRows, M - i), std::min(kColumns, N - j), K, A.at(i, 0), B.at(0, j), C + i * ldc + j, ldc);
  });
}

}  // namespace

// [snippet: clear]
template <typename T>
void matmul_add_clear(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc) {
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t j = 0; j < N; ++j) {
      for (int64_t k = 0; k < K; ++k) {
        C[i * ldc + j] = std::fma(A(i, k), B(k, j), C[i * ldc + j]);
      }
    }
  }
}
// [/snippet]

template <typename T>
void matmul_add(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc) {
  for_blocks(M, N, K, A, B, C, ldc,
             [&](int64_t blocks, auto&& body) { parallel_for(blocks, std::min(kRows, M) * std::min(kColumns, N) * K, body); });
}

template <typename T>
void matmul_add_serial(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc) {
  for_blocks(M, N, K, A, B, C, ldc, [](int64_t blocks, auto&& body) {
    for (int64_t block = 0; block < blocks; ++block) body(block);
  });
}

template <typename T>
void matmul(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C) {
  std::fill_n(C, M * N, T(0));
  matmul_add(M, N, K, A, B, C, N);
}

template <typename T>
void matmul_batched(int64_t batches, int64_t M, int64_t N, int64_t K, MatrixView<T> A, const int64_t* a_offset, MatrixView<T> B,
                    const int64_t* b_offset, T* C) {
  std::fill_n(C, batches * M * N, T(0));
  parallel_for(batches, M * N * K, [=](int64_t i) {
    const MatrixView<T> a{A.data + a_offset[i], A.row, A.col}, b{B.data + b_offset[i], B.row, B.col};
    matmul_add_serial(M, N, K, a, b, C + i * M * N, N);
  });
}

template <typename T>
void linear(int64_t M, int64_t N, int64_t K, MatrixView<T> x, MatrixView<T> W, const T* b, T* y) {
  matmul(M, N, K, x, W, y);
  parallel_ranges(M, N, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* __restrict row = y + i * N;
      for (int64_t j = 0; j < N; ++j) {
        row[j] += b[j];
      }
    }
  });
}

template void matmul_add_clear(int64_t, int64_t, int64_t, MatrixView<float>, MatrixView<float>, float*, int64_t);
template void matmul_add_clear(int64_t, int64_t, int64_t, MatrixView<double>, MatrixView<double>, double*, int64_t);
template void matmul_add(int64_t, int64_t, int64_t, MatrixView<float>, MatrixView<float>, float*, int64_t);
template void matmul_add(int64_t, int64_t, int64_t, MatrixView<double>, MatrixView<double>, double*, int64_t);
template void matmul_add_serial(int64_t, int64_t, int64_t, MatrixView<float>, MatrixView<float>, float*, int64_t);
template void matmul_add_serial(int64_t, int64_t, int64_t, MatrixView<double>, MatrixView<double>, double*, int64_t);
template void matmul(int64_t, int64_t, int64_t, MatrixView<float>, MatrixView<float>, float*);
template void matmul(int64_t, int64_t, int64_t, MatrixView<double>, MatrixView<double>, double*);
template void matmul_batched(int64_t, int64_t, int64_t, int64_t, MatrixView<float>, const int64_t*, MatrixView<float>,
                             const int64_t*, float*);
template void matmul_batched(int64_t, int64_t, int64_t, int64_t, MatrixView<double>, const int64_t*, MatrixView<double>,
                             const int64_t*, double*);
template void linear(int64_t, int64_t, int64_t, MatrixView<float>, MatrixView<float>, const float*, float*);
template void linear(int64_t, int64_t, int64_t, MatrixView<double>, MatrixView<double>, const double*, double*);

}  // namespace ringlet::kernels
