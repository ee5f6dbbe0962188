// Dropout of n contiguous numbers.
#pragma once

#include <cmath>
#include <cstdint>

#include "tensor/base/random.h"

namespace ringlet::kernels {

/// The smallest multiple of 2^−24 that is at least p. Uniform numbers are such multiples, so comparing with it in fp32 decides
/// what comparing with p would.
inline float dropout_threshold(double p) { return static_cast<float>(std::ceil(p * 0x1p24) * 0x1p-24); }

/// y_i = x_i / (1 − p) where number `first + i` of the stream is at least p, else 0.
template <typename T>
void dropout(const T* x, T* y, int64_t n, double p, const RandomStream& stream, uint64_t first);

}  // namespace ringlet::kernels
