// The twin of cpu/square_sum.h on a GPU: the same number, exactly. How it is spread over the limbs may differ before they are
// carried.
#pragma once

#include "tensor/kernels/cpu/square_sum.h"

namespace ringlet::kernels::cuda {

template <typename T>
void square_sum(const T* x, int64_t n, SquareLimbs* sum);

}  // namespace ringlet::kernels::cuda
