// The twin of cpu/divide_and_scale.h on a GPU, with the same bits.
#pragma once

#include "tensor/kernels/cpu/divide_and_scale.h"

namespace ringlet::kernels::cuda {

template <typename T>
void divide_and_scale(T* g, int64_t n, T count, T coefficient);

}  // namespace ringlet::kernels::cuda
