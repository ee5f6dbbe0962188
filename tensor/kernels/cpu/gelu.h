// GELU, erf and tanh forms, of n contiguous numbers.
#pragma once

#include <cstdint>

namespace ringlet::kernels {

template <typename T>
void gelu_erf(const T* x, T* y, int64_t n);
template <typename T>
void gelu_erf_backward(const T* dy, const T* x, T* dx, int64_t n);

template <typename T>
void gelu_tanh(const T* x, T* y, int64_t n);
template <typename T>
void gelu_tanh_backward(const T* dy, const T* x, T* dx, int64_t n);

}  // namespace ringlet::kernels
