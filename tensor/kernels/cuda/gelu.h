// The twins of cpu/gelu.h on a GPU: pointers are device pointers, and the call returns before the result is there.
#pragma once

#include "tensor/kernels/cpu/gelu.h"

namespace ringlet::kernels::cuda {

template <typename T>
void gelu_erf(const T* x, T* y, int64_t n);
template <typename T>
void gelu_erf_backward(const T* dy, const T* x, T* dx, int64_t n);

template <typename T>
void gelu_tanh(const T* x, T* y, int64_t n);
template <typename T>
void gelu_tanh_backward(const T* dy, const T* x, T* dx, int64_t n);

}  // namespace ringlet::kernels::cuda
