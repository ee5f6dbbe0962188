// The twin of cpu/elementwise.h on a GPU: pointers are device pointers, and the call returns before the result is there.
#pragma once

#include "tensor/kernels/cpu/elementwise.h"

namespace ringlet::kernels::cuda {

template <typename T>
void elementwise(Function function, const Runs& runs, T* y, const T* x);

}  // namespace ringlet::kernels::cuda
