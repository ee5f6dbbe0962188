// The twins of cpu/reduce.h on a GPU: pointers, y too, are device pointers, and the call returns before the result is there.
#pragma once

#include "tensor/kernels/cpu/reduce.h"

namespace ringlet::kernels::cuda {

template <typename T>
void sum(const T* x, T* y, int64_t outer, int64_t n, int64_t inner);
template <typename T>
void max(const T* x, T* y, int64_t outer, int64_t n, int64_t inner);

template <typename T>
void squared_norm(const T* x, int64_t n, double* y);

template <typename T>
void all_finite(const T* x, int64_t n, int32_t* y);

}  // namespace ringlet::kernels::cuda
