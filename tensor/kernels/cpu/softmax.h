// Softmax of every row of a contiguous [rows, n].
#pragma once

#include <cstdint>

namespace ringlet::kernels {

template <typename T>
void softmax(const T* x, T* p, int64_t rows, int64_t n);

/// dx = p·(dp − Σ_k dp_k·p_k).
template <typename T>
void softmax_backward(const T* p, const T* dp, T* dx, int64_t rows, int64_t n);

}  // namespace ringlet::kernels
