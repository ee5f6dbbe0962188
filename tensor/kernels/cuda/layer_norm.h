// The twins of cpu/layer_norm.h on a GPU: pointers are device pointers, and the call returns before the result is there.
#pragma once

#include "tensor/kernels/cpu/layer_norm.h"

namespace ringlet::kernels::cuda {

template <typename T>
void layer_norm(const T* x, const T* gamma, const T* beta, double eps, T* y, Accumulator<T>* mean, Accumulator<T>* rstd,
                int64_t rows, int64_t C);

template <typename T>
void layer_norm_backward(const T* dy, const T* x, const T* gamma, const Accumulator<T>* mean, const Accumulator<T>* rstd, T* dx,
                         int64_t rows, int64_t C);

template <typename T>
void layer_norm_backward_weights(const T* dy, const T* x, const Accumulator<T>* mean, const Accumulator<T>* rstd, T* dgamma,
                                 T* dbeta, int64_t rows, int64_t C);

}  // namespace ringlet::kernels::cuda
