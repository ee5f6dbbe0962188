#include "tensor/kernels/cuda/matmul.h"

#include <atomic>
#include <optional>

#include "tensor/kernels/cuda/lt_product.h"
#include "tensor/kernels/cuda/matmul_clear.h"

namespace ringlet::kernels::cuda {
namespace {

std::atomic<bool> tf32_is_allowed{false};

// A view whose rows or columns are contiguous. The stride of an extent of 1 says nothing, so it is free.
template <typename T>
std::optional<LtMatrix> lt_matrix(MatrixView<T> m, int64_t rows, int64_t columns) {
  if ((m.col == 1 || columns == 1) && (rows == 1 || m.row >= columns)) {
    return LtMatrix{m.data, false, rows == 1 ? columns : m.row, 0};
  }
  if ((m.row == 1 || rows == 1) && (columns == 1 || m.col >= rows)) {
    return LtMatrix{m.data, true, columns == 1 ? rows : m.col, 0};
  }
  return std::nullopt;
}

// How many products, and how far apart their factors lie.
struct Batch {
  int64_t count = 1, a_step = 0, b_step = 0;
};

template <typename T>
bool by_lt(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc, Ends<T> ends,
           const Batch& batch = {}) {
  std::optional<LtMatrix> a = lt_matrix(A, M, K), b = lt_matrix(B, K, N);
  if (M == 0 || N == 0 || K == 0 || !a || !b) {
    return false;
  }
  a->step = batch.a_step;
  b->step = batch.b_step;
  return run_lt_product({.dtype = dtype_of<T>,
                         .M = M,
                         .N = N,
                         .K = K,
                         .A = *a,
                         .B = *b,
                         .C = C,
                         .ldc = M == 1 ? N : ldc,
                         .c_step = batch.count > 1 ? M * N : 0,
                         .batches = batch.count,
                         .adds = ends.from_c,
                         .bias = ends.bias,
                         .tf32 = tf32_is_allowed.load()});
}

// How many products from number `begin` on lie at equal distances.
Batch equally_spaced(const int64_t* a, const int64_t* b, int64_t begin, int64_t batches) {
  if (begin + 1 == batches) {
    return {};
  }
  Batch batch{2, a[begin + 1] - a[begin], b[begin + 1] - b[begin]};
  if (batch.a_step < 0 || batch.b_step < 0) {
    return {};
  }
  for (int64_t i = begin + 2; i < batches && a[i] - a[i - 1] == batch.a_step && b[i] - b[i - 1] == batch.b_step; ++i) {
    ++batch.count;
  }
  return batch;
}

}  // namespace

void allow_tf32(bool allowed) { tf32_is_allowed = allowed; }

template <typename T>
void matmul_add_clear(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc) {
  matmul_clear(M, N, K, A, B, C, ldc, Ends<T>{true, nullptr});
}

template <typename T>
void matmul_add(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc) {
  const Ends<T> ends{true, nullptr};
  if (!by_lt(M, N, K, A, B, C, ldc, ends)) {
    matmul_clear(M, N, K, A, B, C, ldc, ends);
  }
}

template <typename T>
void matmul(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C) {
  const Ends<T> ends{false, nullptr};
  if (!by_lt(M, N, K, A, B, C, N, ends)) {
    matmul_clear(M, N, K, A, B, C, N, ends);
  }
}

template <typename T>
void matmul_batched(int64_t batches, int64_t M, int64_t N, int64_t K, MatrixView<T> A, const int64_t* a_offset, MatrixView<T> B,
                    const int64_t* b_offset, T* C) {
  const Ends<T> ends{false, nullptr};
  for (int64_t i = 0; i < batches;) {
    const Batch batch = equally_spaced(a_offset, b_offset, i, batches);
    const auto a = [&](int64_t k) { return MatrixView<T>{A.data + a_offset[k], A.row, A.col}; };
    const auto b = [&](int64_t k) { return MatrixView<T>{B.data + b_offset[k], B.row, B.col}; };
    if (!by_lt(M, N, K, a(i), b(i), C + i * M * N, N, ends, batch)) {
      for (int64_t k = i; k < i + batch.count; ++k) {
        matmul_clear(M, N, K, a(k), b(k), C + k * M * N, N, ends);
      }
    }
    i += batch.count;
  }
}

template <typename T>
void linear(int64_t M, int64_t N, int64_t K, MatrixView<T> x, MatrixView<T> W, const T* b, T* y) {
  const Ends<T> ends{false, b};
  if (!by_lt(M, N, K, x, W, y, N, ends)) {
    matmul_clear(M, N, K, x, W, y, N, ends);
  }
}

#define RINGLET_INSTANTIATE(T)                                                                                   \
  template void matmul_add_clear(int64_t, int64_t, int64_t, MatrixView<T>, MatrixView<T>, T*, int64_t);          \
  template void matmul_add(int64_t, int64_t, int64_t, MatrixView<T>, MatrixView<T>, T*, int64_t);                \
  template void matmul(int64_t, int64_t, int64_t, MatrixView<T>, MatrixView<T>, T*);                             \
  template void matmul_batched(int64_t, int64_t, int64_t, int64_t, MatrixView<T>, const int64_t*, MatrixView<T>, \
                               const int64_t*, T*);                                                              \
  template void linear(int64_t, int64_t, int64_t, MatrixView<T>, MatrixView<T>, const T*, T*);
RINGLET_INSTANTIATE(float)
RINGLET_INSTANTIATE(double)
RINGLET_INSTANTIATE(bf16)
#undef RINGLET_INSTANTIATE

}  // namespace ringlet::kernels::cuda
