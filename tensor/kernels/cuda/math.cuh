// Elementary functions of fp32 and fp64 under one name each, and the way from bf16 to fp32 and back. They are CUDA's: expf,
// logf, tanhf and erff err by at most 1, 1, 2 and 2 ulp (CUDA C++ Programming Guide, mathematical functions), where cpu/math.h
// has polynomials of its own; the bits differ, the tests bound by how much.
#pragma once

#include "tensor/base/dtype.h"
#include "tensor/kernels/cuda/launch.h"

namespace ringlet::kernels::cuda {

__device__ inline float exp(float x) { return ::expf(x); }
__device__ inline double exp(double x) { return ::exp(x); }
__device__ inline float log(float x) { return ::logf(x); }
__device__ inline double log(double x) { return ::log(x); }
__device__ inline float sqrt(float x) { return ::sqrtf(x); }
__device__ inline double sqrt(double x) { return ::sqrt(x); }
__device__ inline float tanh(float x) { return ::tanhf(x); }
__device__ inline double tanh(double x) { return ::tanh(x); }
__device__ inline float erf(float x) { return ::erff(x); }
__device__ inline double erf(double x) { return ::erf(x); }

/// 1 / (1 + e^−x), from e^−|x|, which cannot overflow.
template <typename A>
__device__ A sigmoid(A x) {
  const A e = exp(x < A(0) ? x : -x);
  return (x < A(0) ? e : A(1)) / (A(1) + e);
}

/// a·b + c, rounded once. Only this fuses: a plain a·b + c has two roundings on every device (cmake/cuda.cmake).
__device__ inline float fused(float a, float b, float c) { return ::fmaf(a, b, c); }
__device__ inline double fused(double a, double b, double c) { return ::fma(a, b, c); }

/// The larger one, or the NaN if there is one.
template <typename A>
__device__ A larger(A a, A b) {
  const A larger_or_a = a < b ? b : a;  // a where either is NaN
  return b != b ? b : larger_or_a;
}

template <typename A>
inline constexpr A kInfinity = static_cast<A>(__builtin_inf());

/// For arithmetic: bf16 as fp32.
template <typename T>
__device__ Accumulator<T> wide(T x) {
  return static_cast<Accumulator<T>>(x);
}

}  // namespace ringlet::kernels::cuda
