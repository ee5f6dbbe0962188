#include "tensor/kernels/cuda/square_sum.h"

#include <algorithm>

#include "tensor/base/bf16.h"
#include "tensor/kernels/cuda/integer_sum.cuh"
#include "tensor/kernels/cuda/launch.h"

namespace ringlet::kernels::cuda {
namespace {

// x = ±m·2^(e − 150), e = 16w + s:   x² = m²·2^(2s) · 2^(32w − 300)   (cpu/square_sum.h)
//
// A block of 256 threads takes kSquareBlock elements at a time, four a thread, and keeps limbs of its own in shared memory, which it
// adds to those of the grid at its end. For each window between its least and its largest element a warp joins two words: the lower
// and the upper 24 bits of m², shifted, each below 2^54, so that 128 of them stay below 2^61.
constexpr int kThreads = 256, kPerThread = static_cast<int>(kSquareBlock) / kThreads;
constexpr uint32_t kInfinity = 0x7f800000U;

__device__ uint32_t magnitude_bits(float x) { return __float_as_uint(x) & 0x7fffffffU; }
__device__ uint32_t exponent_of(uint32_t bits) {
  return bits >> 23 > 1 ? bits >> 23 : 1;
}  // subnormals share the least exponent
__device__ uint32_t window_of(uint32_t bits) { return exponent_of(bits) / 16; }

__device__ void add_shared(uint64_t* to, uint64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

// Those of the four elements that lie in `window`, of all threads of the warp.
__device__ void add_window(const uint32_t (&bits)[kPerThread], uint32_t window, SquareLimbs& to) {
  uint64_t low = 0, high = 0;
  for (const uint32_t b : bits) {
    const uint32_t normal = b >> 23 != 0 ? 0x800000U : 0U;  // the leading one, which is not stored
    const uint32_t m = window_of(b) == window ? (b & 0x7fffffU) | normal : 0U;
    const uint64_t square = static_cast<uint64_t>(m) * m;
    const uint32_t shift = 2 * (exponent_of(b) & 15U);
    low += (square & 0xffffffU) << shift;
    high += (square >> 24) << shift;
  }
  low = sum_warp(low);
  high = sum_warp(high);
  if (threadIdx.x % 32 == 0 && (low | high) != 0) {  // low + high·2^24 in pieces of 32 bits; each waits in a limb of 64
    add_shared(&to.limbs[window], (low & 0xffffffffU) + ((high << 24) & 0xffffffffU));
    add_shared(&to.limbs[window + 1], (low >> 32) + ((high >> 8) & 0xffffffffU));
    add_shared(&to.limbs[window + 2], high >> 40);
  }
}

// The largest of the magnitudes of the block, and 1 less than the least that is not 0.
struct Range {
  uint32_t largest, least;
};
__device__ Range range_of(const uint32_t (&bits)[kPerThread], Range* shared) {
  if (threadIdx.x == 0) {
    *shared = {0, ~0U};
  }
  __syncthreads();
  Range mine{0, ~0U};
  for (const uint32_t b : bits) {
    mine = {max(mine.largest, b), min(mine.least, b - 1)};
  }
  atomicMax(&shared->largest, mine.largest);
  atomicMin(&shared->least, mine.least);
  __syncthreads();
  const Range all = *shared;
  __syncthreads();  // all have read it before the next block begins
  return all;
}

// The limbs of this block's elements begin + 0 … kSquareBlock − 1.
template <typename T>
__device__ void add_block(const T* x, int64_t begin, int64_t n, SquareLimbs& to, Range* shared) {
  uint32_t bits[kPerThread];
  for (int k = 0; k < kPerThread; ++k) {
    const int64_t i = begin + k * kThreads + threadIdx.x;
    bits[k] = i < n ? magnitude_bits(static_cast<float>(x[i])) : 0;
  }
  const Range range = range_of(bits, shared);
  if (range.largest >= kInfinity) {  // the sum has lost its meaning
    for (const uint32_t b : bits) {
      if (b >= kInfinity) {
        add_shared(b == kInfinity ? &to.infinities : &to.nans, 1);
      }
    }
    return;
  }
  for (uint32_t window = window_of(range.least + 1); range.largest > 0 && window <= window_of(range.largest); ++window) {
    add_window(bits, window, to);
  }
}

template <typename T>
__global__ void square_sum_kernel(const T* x, int64_t n, SquareLimbs* sum) {
  constexpr int kWords = sizeof(SquareLimbs) / sizeof(uint64_t);
  __shared__ SquareLimbs own;
  __shared__ Range range;
  auto* words = reinterpret_cast<uint64_t*>(&own);
  for (int k = static_cast<int>(threadIdx.x); k < kWords; k += kThreads) {
    words[k] = 0;
  }
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kSquareBlock;  // the first barrier is in add_block
  for (int64_t begin = blockIdx.x * kSquareBlock; begin < n; begin += stride) {
    add_block(x, begin, n, own, &range);
  }
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x); k < kWords; k += kThreads) {
    if (words[k] != 0) {
      add_shared(reinterpret_cast<uint64_t*>(sum) + k, words[k]);
    }
  }
}

}  // namespace

template <typename T>
void square_sum(const T* x, int64_t n, SquareLimbs* sum) {
  constexpr int64_t kMostBlocks = 1024;
  const auto blocks = static_cast<unsigned>(std::min(kMostBlocks, (n + kSquareBlock - 1) / kSquareBlock));
  launch(square_sum_kernel<T>, dim3(blocks), dim3(kThreads), 0, x, n, sum);
}

template void square_sum(const float*, int64_t, SquareLimbs*);
template void square_sum(const bf16*, int64_t, SquareLimbs*);

}  // namespace ringlet::kernels::cuda
