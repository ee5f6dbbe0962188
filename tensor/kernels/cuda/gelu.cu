#include "tensor/kernels/cuda/gelu.h"

#include "tensor/kernels/cuda/map.cuh"

namespace ringlet::kernels::cuda {
namespace {

// Beyond ±40 both forms are x or 0 to the last bit of an fp64, but inf·0 would be NaN. NaN passes.
template <typename A>
__device__ A bounded_below(A x) {
  return x < A(-40) ? A(-40) : x;
}
template <typename A>
__device__ A bounded(A x) {
  const A above = bounded_below(x);
  return above > A(40) ? A(40) : above;
}

// Φ(x) = (1 + erf(x/√2)) / 2
template <typename A>
__device__ A normal_cdf(A x) {
  return A(0.5) + A(0.5) * erf(x * A(0.70710678118654752440));
}

// y = x·Φ(x)
struct GeluErf {
  template <typename A>
  __device__ A operator()(A x) const {
    return bounded_below(x) * normal_cdf(x);
  }
};

// dx = dy·(Φ(x) + x·φ(x)),  φ(x) = exp(−x²/2) / √(2π)
struct GeluErfBackward {
  template <typename A>
  __device__ A operator()(A dy, A x) const {
    const A v = bounded(x);
    return dy * (normal_cdf(v) + v * (A(0.39894228040143267794) * exp(A(-0.5) * v * v)));
  }
};

// t = tanh(u), u = √(2/π)·(x + 0.044715·x³)
constexpr double kRootTwoOverPi = 0.79788456080286535588, kCubic = 0.044715;
template <typename A>
__device__ A tanh_of_cubic(A x) {
  return tanh(A(kRootTwoOverPi) * (x + A(kCubic) * x * x * x));
}

// y = x·(1 + t)/2
struct GeluTanh {
  template <typename A>
  __device__ A operator()(A x) const {
    const A v = bounded_below(x);
    return v * (A(0.5) + A(0.5) * tanh_of_cubic(v));
  }
};

// dx = dy·((1 + t)/2 + x·(1 − t²)·u'/2),  u' = √(2/π)·(1 + 3·0.044715·x²)
struct GeluTanhBackward {
  template <typename A>
  __device__ A operator()(A dy, A x) const {
    const A v = bounded(x);
    const A t = tanh_of_cubic(v);
    const A du = A(kRootTwoOverPi) * (A(1) + A(3 * kCubic) * v * v);
    return dy * (A(0.5) * (A(1) + t) + A(0.5) * v * (A(1) - t * t) * du);
  }
};

}  // namespace

template <typename T>
void gelu_erf(const T* x, T* y, int64_t n) {
  map(contiguous_runs(n), y, x, GeluErf{});
}
template <typename T>
void gelu_erf_backward(const T* dy, const T* x, T* dx, int64_t n) {
  map(contiguous_runs(n), dx, dy, x, GeluErfBackward{});
}
template <typename T>
void gelu_tanh(const T* x, T* y, int64_t n) {
  map(contiguous_runs(n), y, x, GeluTanh{});
}
template <typename T>
void gelu_tanh_backward(const T* dy, const T* x, T* dx, int64_t n) {
  map(contiguous_runs(n), dx, dy, x, GeluTanhBackward{});
}

#define RINGLET_INSTANTIATE(T)                                      \
  template void gelu_erf(const T*, T*, int64_t);                    \
  template void gelu_erf_backward(const T*, const T*, T*, int64_t); \
  template void gelu_tanh(const T*, T*, int64_t);                   \
  template void gelu_tanh_backward(const T*, const T*, T*, int64_t);
RINGLET_INSTANTIATE(float)
RINGLET_INSTANTIATE(double)
RINGLET_INSTANTIATE(bf16)

}  // namespace ringlet::kernels::cuda
