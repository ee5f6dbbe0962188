#include "tensor/kernels/cuda/divide_and_scale.h"

#include <algorithm>

#include "tensor/kernels/cuda/launch.h"

namespace ringlet::kernels::cuda {
namespace {

// g_i ← (g_i/count)·coefficient, two roundings. Neighbouring threads read neighbouring elements, whatever the alignment.
template <typename T>
__global__ void divide_and_scale_kernel(T* g, int64_t n, T count, T coefficient) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    g[i] = g[i] / count * coefficient;
  }
}

}  // namespace

template <typename T>
void divide_and_scale(T* g, int64_t n, T count, T coefficient) {
  constexpr int64_t kThreads = 256, kMostBlocks = 65536;
  const auto blocks = static_cast<unsigned>(std::min(kMostBlocks, (n + kThreads - 1) / kThreads));
  launch(divide_and_scale_kernel<T>, dim3(blocks), dim3(kThreads), 0, g, n, count, coefficient);
}

template void divide_and_scale(float*, int64_t, float, float);
template void divide_and_scale(double*, int64_t, double, double);

}  // namespace ringlet::kernels::cuda
