#include "tensor/kernels/cpu/reduce.h"

#include <bit>
#include <type_traits>

#include "tensor/kernels/cpu/parallel.h"
#include "tensor/kernels/cpu/summation.h"

namespace ringlet::kernels {
namespace {

// [outer, n, inner] column tile by column tile. `column(o, first, last)` writes y[o, first … last − 1].
template <typename Tile>
void for_each_tile(int64_t outer, int64_t n, int64_t inner, int64_t width, Tile&& tile) {
  const int64_t tiles = (inner + width - 1) / width;
  parallel_ranges(outer * tiles, n * std::min(inner, width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % tiles * width;
      tile(i / tiles, first, std::min(inner, first + width));
    }
  });
}

}  // namespace

template <typename T>
void sum(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) {
  if (inner == 1) {
    parallel_ranges(outer, n, [=](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        y[o] = sum_lanes<T>(n, [row = x + o * n](int64_t i) { return row[i]; });
      }
    });
    return;
  }
  for_each_tile(outer, n, inner, ColumnTile<T>::kColumns, [=](int64_t o, int64_t first, int64_t last) {
    const T* matrix = x + o * n * inner;
    sum_columns(n, first, last, y + o * inner, [=](int64_t r, int64_t c) { return matrix[r * inner + c]; });
  });
}

template <typename T>
void max(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) {
  if (inner == 1) {
    parallel_ranges(outer, n, [=](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        y[o] = max_lanes(x + o * n, n);
      }
    });
    return;
  }
  for_each_tile(outer, n, inner, ColumnTile<T>::kColumns, [=](int64_t o, int64_t first, int64_t last) {
    T* __restrict largest = y + o * inner;
    const T* row = x + o * n * inner;
    std::copy(row + first, row + last, largest + first);
    for (int64_t r = 1; r < n; ++r) {
      row += inner;
      for (int64_t c = first; c < last; ++c) {
        largest[c] = larger(largest[c], row[c]);
      }
    }
  });
}

template <typename T>
void squared_norm(const T* x, int64_t n, double* y) {
  *y = sum_lanes<double>(n, [=](int64_t i) { return static_cast<double>(x[i]) * static_cast<double>(x[i]); });
}

template <typename T>
void all_finite(const T* x, int64_t n, int32_t* y) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr Bits kExponent = sizeof(T) == 4 ? Bits{0x7f800000U} : static_cast<Bits>(0x7ff0000000000000ULL);
  Bits found = 0;
  for (int64_t i = 0; i < n; ++i) {
    found |= static_cast<Bits>((std::bit_cast<Bits>(x[i]) & kExponent) == kExponent);
  }
  *y = found == 0 ? 1 : 0;
}

template void sum(const float*, float*, int64_t, int64_t, int64_t);
template void sum(const double*, double*, int64_t, int64_t, int64_t);
template void max(const float*, float*, int64_t, int64_t, int64_t);
template void max(const double*, double*, int64_t, int64_t, int64_t);
template void squared_norm(const float*, int64_t, double*);
template void squared_norm(const double*, int64_t, double*);
template void all_finite(const float*, int64_t, int32_t*);
template void all_finite(const double*, int64_t, int32_t*);

}  // namespace ringlet::kernels
