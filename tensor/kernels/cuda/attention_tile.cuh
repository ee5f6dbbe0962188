// Tiles of attention in shared memory: kTile rows of q or dy, kTile keys of k or v, and the weights between them.
//
// A block has eight threads for each row of a tile. Of the scores of a row a thread has kKeys neighbouring ones, so that the numbers
// of dropout come four to a block of Philox; of its columns it has packs of 16 bytes, 8·16 bytes apart. A load of a pack then serves
// four rows of a warp at once, and 16 fused multiply-adds of each thread (kKeys = 4) need five of them, about what shared memory can
// give. Keys lie in a tile in another order than they have, so that the eight threads read eight neighbouring rows: rows are 16
// bytes longer than their columns, and no two of those lie in the same banks.
#pragma once

#include "tensor/kernels/cuda/attention_head.cuh"
#include "tensor/kernels/cuda/math.cuh"
#include "tensor/kernels/cuda/pack.cuh"

namespace ringlet::kernels::cuda {

inline constexpr int kRowThreads = 8;
/// Rows of a tile: 32, in fp64 16 for the same bytes.
template <typename A>
inline constexpr int kTile = sizeof(A) == 8 ? 16 : 32;
template <typename A>
inline constexpr int kTileThreads = kTile<A>* kRowThreads;
/// Scores per thread.
template <typename A>
inline constexpr int kKeys = kTile<A> / kRowThreads;

template <typename A, int D>
struct alignas(16) TileRows {
  A v[kTile<A>][D + kPackWidth<A>];
};
/// Weights between row r and key j of two tiles; the column more keeps a column out of one bank.
template <typename A>
struct TileWeights {
  A v[kTile<A>][kTile<A> + 1];
};

/// Where key j of a tile lies in it.
template <typename A>
__device__ int slot(int j) {
  return j % kKeys<A> * kRowThreads + j / kKeys<A>;
}

/// to.v[place(r)] = row r of `from`, which is source(r), for r < count; zeros beyond, and beyond `columns`. All threads of the block.
template <int D, typename A, typename Source, typename Place>
__device__ void load_rows(TileRows<A, D>& to, int count, int columns, Source&& source, Place&& place) {
  for (int e = static_cast<int>(threadIdx.x); e < kTile<A> * D; e += kTileThreads<A>) {
    const int r = e / D, d = e % D;
    to.v[place(r)][d] = r < count && d < columns ? static_cast<A>(source(r)[d]) : A(0);
  }
}

/// Rows first … of q, or of whatever lies like it.
template <int D, typename A, typename T>
__device__ void load_queries(TileRows<A, D>& to, const AttentionHead<T>& head, const T* from, int64_t stride, int first) {
  load_rows(
      to, min(kTile<A>, head.length - first), head.columns, [=](int r) { return from + (first + r) * stride; },
      [](int r) { return r; });
}

/// Keys number first … of `count`: rows of k or v.
template <int D, typename A, typename T>
__device__ void load_keys(TileRows<A, D>& to, const AttentionHead<T>& head, const T* from, int first, int count) {
  load_rows(
      to, min(kTile<A>, count - first), head.columns,
      [&head, from, first](int r) { return from + head.position(first + r) * head.stride; }, slot<A>);
}

/// product[n] = row·(key kKeys·lane + n of the tile), a chain of fused multiply-adds over ascending columns, as on the CPU.
template <int D, typename A>
__device__ void key_products(const A* row, const TileRows<A, D>& keys, int lane, A (&product)[kKeys<A>]) {
  constexpr int W = kPackWidth<A>;
  for (A& p : product) {
    p = A(0);
  }
#pragma unroll 4
  for (int d = 0; d < D; d += W) {
    const auto a = load_pack<W>(row + d, true);
    for (int n = 0; n < kKeys<A>; ++n) {
      const auto b = load_pack<W>(keys.v[n * kRowThreads + lane] + d, true);
      for (int w = 0; w < W; ++w) {
        product[n] = fused(a.v[w], b.v[w], product[n]);
      }
    }
  }
}

/// The columns of a row that one thread has.
template <typename A, int D>
struct OwnColumns {
  static constexpr int W = kPackWidth<A>, kCount = D / kRowThreads;
  A v[kCount] = {};

  __device__ static int column(int e, int lane) { return (e / W * kRowThreads + lane) * W + e % W; }
  /// v += weight·row.
  __device__ void add(A weight, const A* row, int lane) {
    for (int e = 0; e < kCount; e += W) {
      const auto x = load_pack<W>(row + column(e, lane), true);
      for (int w = 0; w < W; ++w) {
        v[e + w] = fused(weight, x.v[w], v[e + w]);
      }
    }
  }
  __device__ void scale(A factor) {
    for (A& x : v) {
      x *= factor;
    }
  }
  /// Those of the first `columns`.
  template <typename T>
  __device__ void store(T* row, int columns, int lane) const {
    for (int e = 0; e < kCount; ++e) {
      if (column(e, lane) < columns) {
        row[column(e, lane)] = static_cast<T>(v[e]);
      }
    }
  }
};

/// Over the eight threads of a row; all of them get it.
template <typename A, typename Join>
__device__ A join_row(A x, Join&& join) {
  for (int distance = kRowThreads / 2; distance > 0; distance /= 2) {
    x = join(x, __shfl_xor_sync(0xffffffffU, x, distance));
  }
  return x;
}

}  // namespace ringlet::kernels::cuda
