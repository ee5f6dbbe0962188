// The twin of cpu/clip.h on a GPU, with the same bits.
#pragma once

#include "tensor/kernels/cpu/clip.h"

namespace ringlet::kernels::cuda {

void clip_coefficient(const double* squares, int64_t n, double max_norm, double* coefficient);

}  // namespace ringlet::kernels::cuda
