// Softmax and negative log-likelihood of every row of a contiguous [rows, V]. The labels have been checked (labels.h); on a
// device, where the check is read later, a row with a label that is none is treated as ignored.
#pragma once

#include <cstdint>

#include "tensor/base/dtype.h"

namespace ringlet::kernels {

/// log_sum[r] = log Σ_v exp(z[r, v]), 0 in rows whose label is `ignored`. *sum = Σ over the others of log_sum[r] − z[r, label].
template <typename T>
void cross_entropy(const T* z, const int32_t* labels, int32_t ignored, double* log_sum, Accumulator<T>* sum, int64_t rows,
                   int64_t V);

/// dz = *d·(exp(z − log_sum) − onehot(label)), 0 in ignored rows.
template <typename T>
void cross_entropy_backward(const Accumulator<T>* d, const T* z, const int32_t* labels, int32_t ignored, const double* log_sum,
                            T* dz, int64_t rows, int64_t V);

}  // namespace ringlet::kernels
