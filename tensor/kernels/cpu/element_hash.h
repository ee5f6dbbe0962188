// The sum of one hash per element of a tensor (dist/parameter_hash.h says what it is for).
#pragma once

#include <cstdint>

#include "tensor/base/dtype.h"

namespace ringlet::kernels {

/// 2^64 / golden ratio, odd: what the index of an element is multiplied by.
inline constexpr uint64_t kIndexStep = 0x9e3779b97f4a7c15ULL;

/// *sum += Σ_i mix64((key + i·kIndexStep) ⊕ bits of x_i), modulo 2^64, so in any order.   x: [n] of `dtype`
void element_hash(DType dtype, const void* x, int64_t n, uint64_t key, uint64_t* sum);

}  // namespace ringlet::kernels
