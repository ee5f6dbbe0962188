// W neighbouring elements that move at once. 16 bytes are the most that one instruction of a thread loads: with 2,048 threads
// on a multiprocessor one such load each puts 32 KB in flight, more than an H200 needs (4.8 TB/s · 0.6 us / 132 = 22 KB).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tensor/kernels/cuda/launch.h"

namespace ringlet::kernels::cuda {

template <typename T, int W>
struct alignas(std::min<size_t>(16, W * sizeof(T))) Pack {
  T v[W];
};

/// f(0), …, f(W − 1), converted to T.
template <typename T, int W, typename F>
__device__ Pack<T, W> pack_of(F&& f) {
  Pack<T, W> x;
  for (int k = 0; k < W; ++k) {
    x.v[k] = static_cast<T>(f(k));
  }
  return x;
}

/// Elements in 16 bytes.
template <typename T>
inline constexpr int kPackWidth = static_cast<int>(16 / sizeof(T));

/// Whether packs of W can be loaded from `p` on.
template <int W, typename T>
bool is_aligned(const T* p) {
  return reinterpret_cast<uintptr_t>(p) % alignof(Pack<T, W>) == 0;
}

/// p[0 … W−1]. An address that is not aligned costs W loads instead of one.
template <int W, typename T>
__device__ Pack<T, W> load_pack(const T* p, bool aligned) {
  if (aligned) {
    return *reinterpret_cast<const Pack<T, W>*>(p);
  }
  return pack_of<T, W>([&](int k) { return p[k]; });
}

template <int W, typename T>
__device__ void store_pack(T* p, const Pack<T, W>& x, bool aligned) {
  if (aligned) {
    *reinterpret_cast<Pack<T, W>*>(p) = x;
    return;
  }
  for (int k = 0; k < W; ++k) {
    p[k] = x.v[k];
  }
}

}  // namespace ringlet::kernels::cuda
