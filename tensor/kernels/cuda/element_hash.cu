#include "tensor/kernels/cuda/element_hash.h"

#include <algorithm>

#include "tensor/base/hash.h"
#include "tensor/kernels/cuda/integer_sum.cuh"
#include "tensor/kernels/cuda/launch.h"

namespace ringlet::kernels::cuda {
namespace {

// *sum += Σ_i mix64((key + i·kIndexStep) ⊕ bits of x_i)
//
// Neighbouring threads read neighbouring elements; about 20 integer instructions each. At most 1,024 blocks of 256 threads, so that
// no more than 8,192 warps meet at *sum.
template <typename Word>
__global__ void element_hash_kernel(const Word* x, int64_t n, uint64_t key, uint64_t* sum) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  uint64_t mine = 0;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    mine += mix64((key + static_cast<uint64_t>(i) * kIndexStep) ^ static_cast<uint64_t>(x[i]));
  }
  add_from_warp(sum, mine);
}

template <typename Word>
void start(const void* x, int64_t n, uint64_t key, uint64_t* sum) {
  constexpr int64_t kThreads = 256, kMostBlocks = 1024;
  const auto blocks = static_cast<unsigned>(std::min(kMostBlocks, (n + kThreads - 1) / kThreads));
  launch(element_hash_kernel<Word>, dim3(blocks), dim3(kThreads), 0, static_cast<const Word*>(x), n, key, sum);
}

}  // namespace

void element_hash(DType dtype, const void* x, int64_t n, uint64_t key, uint64_t* sum) {
  switch (size_of(dtype)) {
    case 1: return start<uint8_t>(x, n, key, sum);
    case 2: return start<uint16_t>(x, n, key, sum);
    case 4: return start<uint32_t>(x, n, key, sum);
    default: return start<uint64_t>(x, n, key, sum);
  }
}

}  // namespace ringlet::kernels::cuda
