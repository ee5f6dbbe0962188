// Copies of a block of A and of a panel of B that lie as the tiles of matmul.cpp read them: one behind the other, at strides that
// the compiler knows. Packing moves numbers and adds none.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/kernels/cpu/matmul.h"
#include "tensor/kernels/cpu/simd.h"

namespace ringlet::kernels {

inline constexpr int kTile = kTileRows;  // rows of a tile
inline constexpr int64_t kDepth = 256;   // k per pass

/// Columns of a tile: two registers.
template <typename T>
inline constexpr int64_t kPanel = 2 * Simd<T>::kWidth;

/// panel[k, j] = b[k, j] for k < depth, j < columns; rows of kPanel, the missing columns zero.
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

/// A packed block of A: tile after tile, kTile·kPitch apart. Within a tile a row has its k side by side (kRow = kPitch, kCol = 1), or
/// a k its rows (kRow = 1, kCol = kTile), as they lay in A. One address register then serves all rows of a tile.
template <typename T, int64_t kRow, int64_t kCol>
struct PackedRows {
  static constexpr int64_t kPitch =
      kDepth + 64 / static_cast<int64_t>(sizeof(T));  // a line more: rows fall into different sets
  const T* data;

  const T& operator()(int64_t i, int64_t k) const { return data[i * kRow + k * kCol]; }
  PackedRows from(int64_t i) const { return {data + i * kPitch}; }  // i a multiple of kTile
};
template <typename T>
inline constexpr int64_t kPitch = PackedRows<T, 1, 1>::kPitch;
template <typename T>
using RowByRow = PackedRows<T, kPitch<T>, 1>;
template <typename T>
using DepthByDepth = PackedRows<T, 1, kTile>;

template <typename T>
RowByRow<T> pack_rows(int64_t rows, int64_t depth, MatrixView<T> A, T* to) {
  for (int64_t i = 0; i < rows; ++i) {
    if (A.col == 1) {
      std::copy_n(A.data + i * A.row, depth, to + i * kPitch<T>);
    } else {
      for (int64_t k = 0; k < depth; ++k) to[i * kPitch<T> + k] = A(i, k);
    }
  }
  return {to};
}

/// For A.row = 1.
template <typename T>
DepthByDepth<T> pack_depths(int64_t rows, int64_t depth, MatrixView<T> A, T* to) {
  const int64_t whole = rows / kTile * kTile;
  for (int64_t k = 0; k < depth; ++k) {
    const T* from = A.data + k * A.col;
    for (int64_t i = 0; i < whole; i += kTile) std::copy_n(from + i, kTile, to + i * kPitch<T> + k * kTile);
    for (int64_t i = whole; i < rows; ++i) to[whole * kPitch<T> + k * kTile + i - whole] = from[i];
  }
  return {to};
}

/// A where it lies.
template <typename T>
struct UnpackedRows {
  MatrixView<T> A;

  const T& operator()(int64_t i, int64_t k) const { return A(i, k); }
  UnpackedRows from(int64_t i) const { return {A.at(i, 0)}; }
};

}  // namespace ringlet::kernels
