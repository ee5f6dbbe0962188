// From the sum of gradients over tokens to the clipped mean.
#pragma once

#include <cstdint>

namespace ringlet::kernels {

/// g_i ← (g_i/count)·coefficient: two roundings, in this order, in one pass.
template <typename T>
void divide_and_scale(T* g, int64_t n, T count, T coefficient);

}  // namespace ringlet::kernels
