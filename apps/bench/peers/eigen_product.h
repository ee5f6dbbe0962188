// Eigen's product as a peer for the benchmark.
#pragma once

#include "tensor/kernels/cpu/matmul.h"

namespace ringlet {

/// Whether Eigen was installed when this was built.
bool eigen_available();

/// C += A·B with Eigen, on one thread. Each of A and B is row-major or transposed row-major; C is row-major [M, N].
void eigen_product_add(int64_t M, int64_t N, int64_t K, kernels::MatrixView<float> A, kernels::MatrixView<float> B, float* C);

}  // namespace ringlet
