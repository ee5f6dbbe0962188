// The twin of cpu/dropout.h on a GPU: pointers are device pointers, and the call returns before the result is there.
#pragma once

#include "tensor/kernels/cpu/dropout.h"

namespace ringlet::kernels::cuda {

template <typename T>
void dropout(const T* x, T* y, int64_t n, double p, const RandomStream& stream, uint64_t first);

}  // namespace ringlet::kernels::cuda
