// y = f(a) and y = f(a, b), elementwise, over strided operands (Runs, cpu/runs.h).
//
// A thread takes a pack of W elements along the innermost dim, 16 bytes where all operands lie so that they can be loaded at
// once, else one element. Blocks of 256 threads: eight of them fill a multiprocessor, and a barrier is not needed. The grid
// ends at 65,536 blocks, 268 MB a round of fp32; beyond, a thread takes several packs. An element's value depends on its
// operands alone.
#pragma once

#include "tensor/kernels/cpu/runs.h"
#include "tensor/kernels/cuda/launch.h"
#include "tensor/kernels/cuda/math.cuh"
#include "tensor/kernels/cuda/pack.cuh"

namespace ringlet::kernels::cuda {

inline constexpr int64_t kMapThreads = 256, kMapBlocks = 65536;

/// Where a pack begins, and how many of its elements there are.
struct Place {
  int64_t y, a, b;
  int count;
};

/// How operands can be walked: as one run of packs, as many runs of whole packs, element by element.
enum class Walk : uint8_t { Run, Packs, Elements };

/// The place of pack `unit`, innermost packs first. A single run needs no division; others make do with those of 32 bits, which
/// are what a 64-bit division begins with, unless there are 2^32 packs.
template <int W, Walk walk>
__device__ Place place_of(const Runs& runs, int64_t unit) {
  const int64_t packs = walk == Walk::Run ? 0 : (runs.extent[0] + W - 1) / W;
  int64_t rest = walk == Walk::Run ? 0 : unit / packs;
  const int64_t first = (unit - rest * packs) * W, left = runs.extent[0] - first;
  Place at = {first * runs.y[0], first * runs.a[0], first * runs.b[0], left < W ? static_cast<int>(left) : W};
  for (int dim = 1; walk != Walk::Run && dim < runs.rank; ++dim) {
    const int64_t above = rest / runs.extent[dim], index = rest - above * runs.extent[dim];
    at.y += index * runs.y[dim], at.a += index * runs.a[dim], at.b += index * runs.b[dim];
    rest = above;
  }
  return at;
}

/// p[0], p[step], …, `count` of them. Packs with step 1 are aligned: `packs_fit` has seen to it.
template <int W, typename T>
__device__ Pack<T, W> load_run(const T* p, int64_t step, int count) {
  if (W > 1 && step == 1 && count == W) {
    return *reinterpret_cast<const Pack<T, W>*>(p);
  }
  return pack_of<T, W>([&](int k) { return p[k < count ? k * step : 0]; });
}

template <int W, typename T>
__device__ void store_run(T* p, int64_t step, int count, const Pack<T, W>& x) {
  if (W > 1 && step == 1 && count == W) {
    *reinterpret_cast<Pack<T, W>*>(p) = x;
    return;
  }
  for (int k = 0; k < W; ++k) {
    if (k < count) {  // a test, not the loop's bound: so x stays in registers
      p[k * step] = x.v[k];
    }
  }
}

/// Calls body.template at<W>(runs, place) for every pack.
template <int W, Walk walk, typename Body>
__global__ void map_kernel(const Runs runs, const int64_t packs, const Body body) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t unit = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; unit < packs; unit += stride) {
    body.template at<W>(runs, place_of<W, walk>(runs, unit));
  }
}

/// Whether an operand with these steps can be walked in packs of W: side by side or one number along the innermost dim, and
/// rows that begin at whole packs. In the last pack of a single run elements may be missing.
template <int W, typename T>
bool packs_fit(const Runs& runs, const int64_t (&steps)[kMaxDims], const T* p) {
  if (steps[0] == 0) {
    return true;
  }
  bool fits = steps[0] == 1 && is_aligned<W>(p) && (runs.rank == 1 || runs.extent[0] % W == 0);
  for (int dim = 1; dim < runs.rank; ++dim) {
    fits = fits && steps[dim] % W == 0;
  }
  return fits;
}

template <int W, Walk walk, typename Body>
void launch_map(const Runs& runs, const Body& body) {
  int64_t packs = (runs.extent[0] + W - 1) / W;
  for (int dim = 1; dim < runs.rank; ++dim) {
    packs *= runs.extent[dim];
  }
  if (packs > 0) {
    const int64_t blocks = std::min(kMapBlocks, (packs + kMapThreads - 1) / kMapThreads);
    launch(map_kernel<W, walk, Body>, dim3(static_cast<unsigned>(blocks)), dim3(kMapThreads), 0, runs, packs, body);
  }
}

/// Runs `body` over packs of W where they fit, else over elements.
template <int W, typename Body>
void launch_map(const Runs& runs, const Body& body, bool fit) {
  if (!fit) {
    launch_map<1, Walk::Elements>(runs, body);
  } else if (runs.rank > 1) {
    launch_map<W, Walk::Packs>(runs, body);
  } else {
    launch_map<W, Walk::Run>(runs, body);
  }
}

/// f's operands in their wide type, for the four ways in which kernels have them.
template <typename T, typename F>
struct Unary {
  T* y;
  const T* a;
  F f;
  template <int W>
  __device__ void at(const Runs& runs, const Place& place) const {
    const Pack<T, W> x = load_run<W>(a + place.a, runs.a[0], place.count);
    store_run<W>(y + place.y, runs.y[0], place.count, pack_of<T, W>([&](int k) { return f(wide(x.v[k])); }));
  }
};
template <typename T, typename F>
struct Binary {
  T* y;
  const T *a, *b;
  F f;
  template <int W>
  __device__ void at(const Runs& runs, const Place& place) const {
    const Pack<T, W> left = load_run<W>(a + place.a, runs.a[0], place.count);
    const Pack<T, W> right = load_run<W>(b + place.b, runs.b[0], place.count);
    store_run<W>(y + place.y, runs.y[0], place.count,
                 pack_of<T, W>([&](int k) { return f(wide(left.v[k]), wide(right.v[k])); }));
  }
};

/// y = f(a).
template <typename T, typename F>
void map(const Runs& runs, T* y, const T* a, F f) {
  constexpr int W = kPackWidth<T>;
  const bool fit = runs.y[0] == 1 && packs_fit<W>(runs, runs.y, y) && packs_fit<W>(runs, runs.a, a);
  launch_map<W>(runs, Unary<T, F>{y, a, f}, fit);
}

/// y = f(a, b).
template <typename T, typename F>
void map(const Runs& runs, T* y, const T* a, const T* b, F f) {
  constexpr int W = kPackWidth<T>;
  const bool fit =
      runs.y[0] == 1 && packs_fit<W>(runs, runs.y, y) && packs_fit<W>(runs, runs.a, a) && packs_fit<W>(runs, runs.b, b);
  launch_map<W>(runs, Binary<T, F>{y, a, b, f}, fit);
}

/// The runs of n contiguous elements.
inline Runs contiguous_runs(int64_t n) { return merge_runs({n}, {1}, {1}, {1}); }

}  // namespace ringlet::kernels::cuda
