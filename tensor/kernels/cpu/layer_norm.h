// LayerNorm of every row of a contiguous [rows, C].
#pragma once

#include <cstdint>

#include "tensor/base/dtype.h"

namespace ringlet::kernels {

/// y = (x − μ)·ρ·γ + β. `beta` may be null.
template <typename T>
void layer_norm(const T* x, const T* gamma, const T* beta, double eps, T* y, Accumulator<T>* mean, Accumulator<T>* rstd,
                int64_t rows, int64_t C);

/// dx = ρ·(g − mean_C(g) − x̂·mean_C(g·x̂)) with g = dy·γ and x̂ = (x − μ)·ρ.
template <typename T>
void layer_norm_backward(const T* dy, const T* x, const T* gamma, const Accumulator<T>* mean, const Accumulator<T>* rstd, T* dx,
                         int64_t rows, int64_t C);

/// dγ = Σ_rows dy·x̂,  dβ = Σ_rows dy.
template <typename T>
void layer_norm_backward_weights(const T* dy, const T* x, const Accumulator<T>* mean, const Accumulator<T>* rstd, T* dgamma,
                                 T* dbeta, int64_t rows, int64_t C);

}  // namespace ringlet::kernels
