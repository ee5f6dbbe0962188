// The twins of cpu/cross_entropy.h on a GPU: pointers, d and sum too, are device pointers, and the call returns before the
// result is there. A row whose label is neither `ignored` nor in 0 .. V−1 is treated as ignored; labels.h tells of it.
#pragma once

#include "tensor/kernels/cpu/cross_entropy.h"

namespace ringlet::kernels::cuda {

template <typename T>
void cross_entropy(const T* z, const int32_t* labels, int32_t ignored, double* log_sum, Accumulator<T>* sum, int64_t rows,
                   int64_t V);

template <typename T>
void cross_entropy_backward(const Accumulator<T>* d, const T* z, const int32_t* labels, int32_t ignored, const double* log_sum,
                            T* dz, int64_t rows, int64_t V);

}  // namespace ringlet::kernels::cuda
