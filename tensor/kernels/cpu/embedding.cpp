#include "tensor/kernels/cpu/embedding.h"

#include <algorithm>

#include "tensor/kernels/cpu/parallel.h"

namespace ringlet::kernels {

template <typename T>
void embedding(const T* table, const int32_t* ids, T* y, int64_t N, int64_t C, int64_t) {
  parallel_ranges(N, C, [=](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      std::copy_n(table + ids[n] * C, C, y + n * C);
    }
  });
}

// Threads share the columns, not the positions: two positions with the same id would meet in one row.
template <typename T>
void embedding_backward(const T* dy, const int32_t* ids, T* dtable, int64_t N, int64_t C, int64_t) {
  constexpr int64_t kColumns = 64;
  parallel_for((C + kColumns - 1) / kColumns, N * kColumns, [=](int64_t tile) {
    const int64_t first = tile * kColumns, last = std::min(C, first + kColumns);
    for (int64_t n = 0; n < N; ++n) {
      T* __restrict row = dtable + ids[n] * C;
      const T* gradient = dy + n * C;
      for (int64_t c = first; c < last; ++c) {
        row[c] += gradient[c];
      }
    }
  });
}

template void embedding(const float*, const int32_t*, float*, int64_t, int64_t, int64_t);
template void embedding(const double*, const int32_t*, double*, int64_t, int64_t, int64_t);
template void embedding_backward(const float*, const int32_t*, float*, int64_t, int64_t, int64_t);
template void embedding_backward(const double*, const int32_t*, double*, int64_t, int64_t, int64_t);

}  // namespace ringlet::kernels
