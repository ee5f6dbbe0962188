#include "tensor/kernels/cuda/dropout.h"

#include <algorithm>

#include "tensor/base/philox.h"
#include "tensor/kernels/cuda/launch.h"
#include "tensor/kernels/cuda/math.cuh"
#include "tensor/kernels/cuda/pack.cuh"

namespace ringlet::kernels::cuda {
namespace {

constexpr int kWords = 4;  // random numbers in a block of Philox

// What a kernel needs of a RandomStream: number i is word i mod 4 of block i / 4.
struct Numbers {
  uint64_t key, index, first;
  const uint64_t* index_at;  // in place of `index`, unless null
};

// y_i = x_i·scale where number first + i is at least `threshold`, else 0.
//
// A thread draws one block of Philox and decides over the four numbers that it is for: ten rounds are about 60 integer
// instructions, 15 a number, which hide behind the memory. 16 bytes a thread in fp32, loaded at once where x, y and `first`
// begin at a whole four; in bf16 and fp64 8 and 32. 256 threads a block, no barrier.
template <typename T>
__global__ void dropout_kernel(const T* x, T* y, int64_t n, float threshold, Accumulator<T> scale, Numbers numbers,
                               bool aligned) {
  const int64_t skip = static_cast<int64_t>(numbers.first % kWords), fours = (skip + n + kWords - 1) / kWords;
  const uint64_t index = numbers.index_at == nullptr ? numbers.index : *numbers.index_at;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t four = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; four < fours; four += stride) {
    const uint64_t block = numbers.first / kWords + static_cast<uint64_t>(four);
    const auto [a, b, c, d] = philox_rounds(philox_counter(index, block), numbers.key);
    const float number[kWords] = {uniform_of(a), uniform_of(b), uniform_of(c), uniform_of(d)};
    const int64_t i = four * kWords - skip;
    if (aligned && i + kWords <= n) {
      const Pack<T, kWords> in = load_pack<kWords>(x + i, true);
      Pack<T, kWords> out;
      for (int w = 0; w < kWords; ++w) {
        out.v[w] = number[w] >= threshold ? static_cast<T>(wide(in.v[w]) * scale) : T(0.0F);
      }
      store_pack(y + i, out, true);
      continue;
    }
    for (int w = 0; w < kWords; ++w) {
      if (i + w >= 0 && i + w < n) {
        y[i + w] = number[w] >= threshold ? static_cast<T>(wide(x[i + w]) * scale) : T(0.0F);
      }
    }
  }
}

}  // namespace

template <typename T>
void dropout(const T* x, T* y, int64_t n, double p, const RandomStream& stream, uint64_t first) {
  if (n == 0) {
    return;
  }
  constexpr int64_t kThreads = 256, kBlocks = 65536;
  const bool aligned = first % kWords == 0 && is_aligned<kWords>(x) && is_aligned<kWords>(y);
  const int64_t blocks = std::min(kBlocks, n / (kWords * kThreads) + 1);
  launch(dropout_kernel<T>, dim3(static_cast<unsigned>(blocks)), dim3(kThreads), 0, x, y, n, dropout_threshold(p),
         static_cast<Accumulator<T>>(1.0 / (1.0 - p)), Numbers{stream.key(), stream.index(), first, stream.index_at()},
         aligned);
}

template void dropout(const float*, float*, int64_t, double, const RandomStream&, uint64_t);
template void dropout(const double*, double*, int64_t, double, const RandomStream&, uint64_t);
template void dropout(const bf16*, bf16*, int64_t, double, const RandomStream&, uint64_t);

}  // namespace ringlet::kernels::cuda
