// The twins of cpu/softmax.h on a GPU: pointers are device pointers, and the call returns before the result is there.
#pragma once

#include "tensor/kernels/cpu/softmax.h"

namespace ringlet::kernels::cuda {

template <typename T>
void softmax(const T* x, T* p, int64_t rows, int64_t n);

template <typename T>
void softmax_backward(const T* p, const T* dp, T* dx, int64_t rows, int64_t n);

}  // namespace ringlet::kernels::cuda
