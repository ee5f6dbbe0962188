// Reductions of contiguous numbers, in the order of summation.h.
#pragma once

#include <cstdint>

namespace ringlet::kernels {

/// Σ_i x_i.
template <typename T>
T sum(const T* x, int64_t n);

// Over the middle extent:  x: [outer, n, inner]  ->  y: [outer, inner].
template <typename T>
void sum(const T* x, T* y, int64_t outer, int64_t n, int64_t inner);
template <typename T>
void max(const T* x, T* y, int64_t outer, int64_t n, int64_t inner);

/// Σ_i x_i², each square and the sum in fp64.
template <typename T>
double squared_norm(const T* x, int64_t n);

/// Looks at the bits of the exponents: no compiler flag can make it true by assumption.
template <typename T>
bool all_finite(const T* x, int64_t n);

}  // namespace ringlet::kernels
