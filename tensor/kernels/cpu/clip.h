// The coefficient of clipping where the norm is (optim/clip.h), so that nobody has to wait for it.
#pragma once

#include <cstdint>

namespace ringlet::kernels {

/// *coefficient = min(1, max_norm/√Σ squares), of n ≥ 0 sums of squares, added in ascending order. NaN where a square is.
void clip_coefficient(const double* squares, int64_t n, double max_norm, double* coefficient);

}  // namespace ringlet::kernels
