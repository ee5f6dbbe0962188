// Products of 16 x 16 tiles by a warp: D = A·B + C, bf16 in, fp32 out.
//
// A lane holds 8 of the 256 elements. Which ones is nobody's business on a device either; only that two fragments of one type agree.
#pragma once

#include <cuda_bf16.h>

#include "test/emulated_gpu/device/warp.h"

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

template <typename Use, int M, int N, int K, typename T, typename Layout = void>
struct fragment {
  static_assert(M == 16 && N == 16 && K == 16, "the emulated GPU has tiles of 16 x 16 x 16");
  static constexpr int num_elements = 8;
  T x[num_elements];
};
using AccumulatorFragment = fragment<accumulator, 16, 16, 16, float>;

/// Element e of a lane is the element (row, column) of the tile.
struct TilePlace {
  unsigned row, column;
  explicit TilePlace(unsigned lane, int e) : row(lane / 2), column(lane % 2 * 8 + static_cast<unsigned>(e)) {}
  size_t in_rows(unsigned stride) const { return static_cast<size_t>(row) * stride + column; }
  size_t in_columns(unsigned stride) const { return static_cast<size_t>(column) * stride + row; }
};

// While one lives, memory is used by the warp together.
struct Together {
  Together() { ringlet::emulated_gpu::in_warp_operation = true; }
  ~Together() { ringlet::emulated_gpu::in_warp_operation = false; }
};

template <typename Fragment, typename T>
void fill_fragment(Fragment& to, const T& value) {
  for (auto& element : to.x) {
    element = value;
  }
}

// Loads and stores do not wait for the warp: what other lanes wrote without a barrier in between is then seen to be missing.
template <typename Use, typename T, typename Layout>
void load_matrix_sync(fragment<Use, 16, 16, 16, T, Layout>& to, const T* from, unsigned stride) {
  const Together warp;
  for (int e = 0; e < to.num_elements; ++e) {
    const TilePlace place(ringlet::emulated_gpu::lane_index, e);
    to.x[e] = from[std::is_same_v<Layout, row_major> ? place.in_rows(stride) : place.in_columns(stride)];
  }
}
inline void load_matrix_sync(AccumulatorFragment& to, const float* from, unsigned stride, layout_t layout) {
  const Together warp;
  for (int e = 0; e < to.num_elements; ++e) {
    const TilePlace place(ringlet::emulated_gpu::lane_index, e);
    to.x[e] = from[layout == mem_row_major ? place.in_rows(stride) : place.in_columns(stride)];
  }
}
inline void store_matrix_sync(float* to, const AccumulatorFragment& from, unsigned stride, layout_t layout) {
  const Together warp;
  for (int e = 0; e < from.num_elements; ++e) {
    const TilePlace place(ringlet::emulated_gpu::lane_index, e);
    to[layout == mem_row_major ? place.in_rows(stride) : place.in_columns(stride)] = from.x[e];
  }
}

struct MmaLane {
  const __nv_bfloat16 *a, *b;
  const float* c;
  float* d;
};

/// The product of what 32 lanes brought; sums of 16 in double, rounded once.
void multiply_together(ringlet::emulated_gpu::LaneArguments lanes);

template <typename LayoutA, typename LayoutB>
void mma_sync(AccumulatorFragment& d, const fragment<matrix_a, 16, 16, 16, __nv_bfloat16, LayoutA>& a,
              const fragment<matrix_b, 16, 16, 16, __nv_bfloat16, LayoutB>& b, const AccumulatorFragment& c,
              const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  MmaLane lane{a.x, b.x, c.x, d.x};
  ringlet::emulated_gpu::wait_for_lanes(0xffffffffU, {"mma_sync", file, line}, &lane, multiply_together);
}

}  // namespace nvcuda::wmma
