// Numbers whose every operation is rounded, to nearest: what IEEE 754 says and the CPU does. Of a plain a·b + c nvcc makes one fused
// operation with one rounding, more exact but other bits; these it never fuses, whatever the flags. A formula written with them has
// the bits of its CPU twin, which is compiled with -ffp-contract=off.
#pragma once

#include "tensor/kernels/cuda/launch.h"

namespace ringlet::kernels::cuda {

template <typename T>
struct Rounded {
  T value;
};

__device__ inline Rounded<float> operator+(Rounded<float> a, Rounded<float> b) { return {__fadd_rn(a.value, b.value)}; }
__device__ inline Rounded<float> operator-(Rounded<float> a, Rounded<float> b) { return {__fsub_rn(a.value, b.value)}; }
__device__ inline Rounded<float> operator*(Rounded<float> a, Rounded<float> b) { return {__fmul_rn(a.value, b.value)}; }
__device__ inline Rounded<float> operator/(Rounded<float> a, Rounded<float> b) { return {__fdiv_rn(a.value, b.value)}; }
__device__ inline Rounded<float> root(Rounded<float> a) { return {__fsqrt_rn(a.value)}; }

__device__ inline Rounded<double> operator+(Rounded<double> a, Rounded<double> b) { return {__dadd_rn(a.value, b.value)}; }
__device__ inline Rounded<double> operator-(Rounded<double> a, Rounded<double> b) { return {__dsub_rn(a.value, b.value)}; }
__device__ inline Rounded<double> operator*(Rounded<double> a, Rounded<double> b) { return {__dmul_rn(a.value, b.value)}; }
__device__ inline Rounded<double> operator/(Rounded<double> a, Rounded<double> b) { return {__ddiv_rn(a.value, b.value)}; }
__device__ inline Rounded<double> root(Rounded<double> a) { return {__dsqrt_rn(a.value)}; }

/// a·b + c, rounded once: meant to be fused.
__device__ inline float fused(float a, float b, float c) { return fmaf(a, b, c); }
__device__ inline double fused(double a, double b, double c) { return fma(a, b, c); }

}  // namespace ringlet::kernels::cuda
