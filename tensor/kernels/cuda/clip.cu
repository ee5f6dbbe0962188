#include "tensor/kernels/cuda/clip.h"

#include "tensor/kernels/cuda/launch.h"
#include "tensor/kernels/cuda/math.cuh"

namespace ringlet::kernels::cuda {
namespace {

// One thread: a number for each parameter, some hundred, added in the order of the CPU, a few microseconds.
__global__ void clip_coefficient_kernel(const double* squares, int64_t n, double max_norm, double* coefficient) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    sum += squares[i];
  }
  const double norm = sqrt(sum);
  *coefficient = norm <= max_norm ? 1.0 : max_norm / norm;
}

}  // namespace

void clip_coefficient(const double* squares, int64_t n, double max_norm, double* coefficient) {
  launch(clip_coefficient_kernel, dim3(1), dim3(1), 0, squares, n, max_norm, coefficient);
}

}  // namespace ringlet::kernels::cuda
