// Reductions of contiguous numbers, in the order of summation.h.
#pragma once

#include <cstdint>

namespace ringlet::kernels {

// Over the middle extent:  x: [outer, n, inner]  ->  y: [outer, inner].
template <typename T>
void sum(const T* x, T* y, int64_t outer, int64_t n, int64_t inner);
template <typename T>
void max(const T* x, T* y, int64_t outer, int64_t n, int64_t inner);

/// *y = Σ_i x_i², each square and the sum in fp64.
template <typename T>
void squared_norm(const T* x, int64_t n, double* y);

/// *y is 1 or 0. Looks at the bits of the exponents: no compiler flag can make it true by assumption.
template <typename T>
void all_finite(const T* x, int64_t n, int32_t* y);

}  // namespace ringlet::kernels
