#include "tensor/kernels/cpu/matmul.h"

#include <algorithm>
#include <cmath>

#include "tensor/kernels/cpu/matmul_pack.h"
#include "tensor/kernels/cpu/parallel.h"
#include "tensor/kernels/cpu/simd.h"
#if RINGLET_THREADS
#include <omp.h>
#endif

namespace ringlet::kernels {
namespace {

// A block of work: its rows share a packed panel of B, its columns a packed A, which is 256 KB: half of a second-level cache.
template <typename T>
constexpr int64_t kRows = 1024 / static_cast<int64_t>(sizeof(T));
constexpr int64_t kColumns = 384;
constexpr int64_t kLeast = 64;        // rows or columns: no block is halved for more threads below that
constexpr int64_t kPackedFrom = 192;  // columns that repay a copy of A

// Whether `columns` repay it: even two panels do where a transposed A would touch a page per k.
template <typename T>
bool worth_packing(MatrixView<T> A, int64_t columns) {
  const bool far = A.row == 1 && A.col * static_cast<int64_t>(sizeof(T)) > 1024;
  return columns >= kPackedFrom || (far && columns > kPanel<T>);
}

// How the chains of a pass over k begin, from zero or from C, and end, with a bias or without.
template <typename T>
struct Ends {
  bool zero;
  const T* bias;  // of the first column; null: none

  Ends at(int64_t j) const { return {zero, bias == nullptr ? nullptr : bias + j}; }
};

// A tile of R rows and V registers of columns:  c[i, :] += Σ_k a[i, k]·b[k, :], k ascending. B is packed, kPanel apart.
template <int R, int V, typename T, typename Rows>
void tile(int64_t depth, Rows A, const T* B, T* C, int64_t ldc, Ends<T> ends) {
  using L = Simd<T>;
  L c[R][V];
  for (int i = 0; i < R; ++i) {
    for (int v = 0; v < V; ++v) c[i][v] = ends.zero ? L::broadcast(T{0}) : L::load(C + i * ldc + v * L::kWidth);
  }
  for (int64_t k = 0; k < depth; ++k) {
    L b[V];
    for (int v = 0; v < V; ++v) b[v] = L::load(B + k * kPanel<T> + v * L::kWidth);
    for (int i = 0; i < R; ++i) {
      const L a = L::broadcast(A(i, k));
      for (int v = 0; v < V; ++v) c[i][v] = L::fma(a, b[v], c[i][v]);
    }
  }
  for (int v = 0; v < V && ends.bias != nullptr; ++v) {
    const L one = L::broadcast(T{1}), b = L::load(ends.bias + v * L::kWidth);
    for (int i = 0; i < R; ++i) c[i][v] = L::fma(one, c[i][v], b);  // c + b, rounded once
  }
  for (int i = 0; i < R; ++i) {
    for (int v = 0; v < V; ++v) c[i][v].store(C + i * ldc + v * L::kWidth);
  }
}

// The same for `rows` <= R: the last rows of a block.
template <int R, int V, typename T, typename Rows>
void tile_of(int64_t rows, int64_t depth, Rows A, const T* B, T* C, int64_t ldc, Ends<T> ends) {
  if constexpr (R > 0) {
    rows == R ? tile<R, V>(depth, A, B, C, ldc, ends) : tile_of<R - 1, V>(rows, depth, A, B, C, ldc, ends);
  }
}

// While a tile is computed, the next one's C comes nearer.
template <int V, typename T, typename Rows>
void tiles(int64_t rows, int64_t depth, Rows A, const T* B, T* C, int64_t ldc, Ends<T> ends) {
  for (int64_t i = 0; i < rows; i += kTile) {
    for (int64_t next = i + kTile; next < std::min(rows, i + 2 * kTile); ++next) {
      for (int v = 0; v < V; ++v) __builtin_prefetch(C + next * ldc + v * Simd<T>::kWidth, 1);
    }
    tile_of<kTile, V>(std::min<int64_t>(kTile, rows - i), depth, A.from(i), B, C + i * ldc, ldc, ends);
  }
}

// Fewer columns than a register has: through a copy of C whose rows are whole registers. The extra columns hold zeros.
template <typename T, typename Rows>
void tiles_of_few_columns(int64_t rows, int64_t columns, int64_t depth, Rows A, const T* B, T* C, int64_t ldc, Ends<T> ends) {
  constexpr int64_t width = Simd<T>::kWidth;
  T edge[kRows<T> * width] = {}, bias[width] = {};
  for (int64_t i = 0; i < rows && !ends.zero; ++i) std::copy_n(C + i * ldc, columns, edge + i * width);
  if (ends.bias != nullptr) ends.bias = std::copy_n(ends.bias, columns, bias) - columns;
  tiles<1>(rows, depth, A, B, edge, width, ends);
  for (int64_t i = 0; i < rows; ++i) std::copy_n(edge + i * width, columns, C + i * ldc);
}

template <typename T, typename Rows>
void columns_of_block(int64_t rows, int64_t columns, int64_t depth, Rows A, MatrixView<T> B, T* C, int64_t ldc, Ends<T> ends) {
  constexpr int64_t width = Simd<T>::kWidth;
  alignas(64) T panel[kDepth * kPanel<T>];
  for (int64_t j = 0; j < columns; j += kPanel<T>) {
    const int64_t here = std::min(kPanel<T>, columns - j);
    pack_panel(depth, here, B.at(0, j), panel);
    if (here == kPanel<T>) {
      tiles<2>(rows, depth, A, panel, C + j, ldc, ends.at(j));
      continue;
    }
    if (here >= width) {
      tiles<1>(rows, depth, A, panel, C + j, ldc, ends.at(j));
    }
    if (const int64_t rest = here % width, at = j + here - rest; rest > 0) {
      tiles_of_few_columns(rows, rest, depth, A, panel + here - rest, C + at, ldc, ends.at(at));
    }
  }
}

// One block of work: up to kRows x kColumns of C, over all of k.
template <typename T>
void block_of(int64_t rows, int64_t columns, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc, Ends<T> ends) {
  alignas(64) T packed[(kRows<T> + kTile) * kPitch<T>];
  int64_t k = 0;
  do {  // also for K = 0
    const int64_t depth = std::min(kDepth, K - k);
    const MatrixView<T> a = A.at(0, k), b = B.at(k, 0);
    const Ends<T> pass{ends.zero && k == 0, k + depth == K ? ends.bias : nullptr};
    if (!worth_packing(A, columns)) {
      columns_of_block(rows, columns, depth, UnpackedRows<T>{a}, b, C, ldc, pass);
    } else if (A.row == 1) {
      columns_of_block(rows, columns, depth, pack_depths(rows, depth, a, packed), b, C, ldc, pass);
    } else {
      columns_of_block(rows, columns, depth, pack_rows(rows, depth, a, packed), b, C, ldc, pass);
    }
  } while ((k += kDepth) < K);
}

int64_t thread_count() {
#if RINGLET_THREADS
  return omp_get_max_threads();
#else
  return 1;
#endif
}

// How C is cut into blocks of equal size, one row of them after the other. A chain of k stays whole, so no bit depends on it.
template <typename T>
struct Grid {
  int64_t M, N, down, across;

  Grid(int64_t rows, int64_t columns, int64_t threads)
      : M(rows),
        N(columns),
        down(std::max<int64_t>(1, ceiling(M, kRows<T>))),
        across(std::max<int64_t>(1, ceiling(N, kColumns))) {
    while (down * across % threads != 0 && down * across < 4 * threads) {  // else some threads would be idle for long
      if (block_columns() >= block_rows() && block_columns() > kLeast) {
        across *= 2;
      } else if (block_rows() > kLeast) {
        down *= 2;
      } else {
        break;
      }
    }
  }
  static int64_t ceiling(int64_t n, int64_t parts) { return (n + parts - 1) / parts; }
  int64_t block_rows() const { return ceiling(ceiling(M, down), kTile) * kTile; }
  int64_t block_columns() const { return ceiling(ceiling(N, across), kPanel<T>) * kPanel<T>; }
  int64_t blocks() const { return down * across; }
};

template <typename T>
void block_of_grid(const Grid<T>& grid, int64_t block, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc,
                   Ends<T> ends) {
  const int64_t i = block / grid.across * grid.block_rows(), j = block % grid.across * grid.block_columns();
  const int64_t rows = std::min(grid.block_rows(), grid.M - i), columns = std::min(grid.block_columns(), grid.N - j);
  if (rows > 0 && columns > 0) {
    block_of(rows, columns, K, A.at(i, 0), B.at(0, j), C + i * ldc + j, ldc, ends.at(j));
  }
}

template <typename T>
void product(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc, Ends<T> ends) {
  const Grid<T> grid(M, N, M * N * K > kParallelWork ? thread_count() : 1);
  parallel_for(grid.blocks(), grid.block_rows() * grid.block_columns() * K,
               [=](int64_t block) { block_of_grid(grid, block, K, A, B, C, ldc, ends); });
}

template <typename T>
void product_serial(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc, Ends<T> ends) {
  const Grid<T> grid(M, N, 1);
  for (int64_t block = 0; block < grid.blocks(); ++block) block_of_grid(grid, block, K, A, B, C, ldc, ends);
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
  product(M, N, K, A, B, C, ldc, {.zero = false, .bias = nullptr});
}

template <typename T>
void matmul_add_serial(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc) {
  product_serial(M, N, K, A, B, C, ldc, {.zero = false, .bias = nullptr});
}

template <typename T>
void matmul(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C) {
  product(M, N, K, A, B, C, N, {.zero = true, .bias = nullptr});
}

template <typename T>
void matmul_batched(int64_t batches, int64_t M, int64_t N, int64_t K, MatrixView<T> A, const int64_t* a_offset, MatrixView<T> B,
                    const int64_t* b_offset, T* C) {
  parallel_for(batches, M * N * K, [=](int64_t i) {
    const MatrixView<T> a{A.data + a_offset[i], A.row, A.col}, b{B.data + b_offset[i], B.row, B.col};
    product_serial<T>(M, N, K, a, b, C + i * M * N, N, {.zero = true, .bias = nullptr});
  });
}

template <typename T>
void linear(int64_t M, int64_t N, int64_t K, MatrixView<T> x, MatrixView<T> W, const T* b, T* y) {
  product(M, N, K, x, W, y, N, {.zero = true, .bias = b});
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
