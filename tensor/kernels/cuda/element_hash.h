// The twin of cpu/element_hash.h on a GPU: `x` and `sum` lie on the device. The sum is of integers, so it is the same.
#pragma once

#include "tensor/kernels/cpu/element_hash.h"

namespace ringlet::kernels::cuda {

void element_hash(DType dtype, const void* x, int64_t n, uint64_t key, uint64_t* sum);

}  // namespace ringlet::kernels::cuda
