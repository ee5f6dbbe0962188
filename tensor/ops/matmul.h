// Products.
//
// Each element is one chain of fused multiply-adds over k, ascending:  c = fma(a[i,K-1], b[K-1,j], … fma(a[i,0], b[0,j], 0)).
// So its bits depend on row i of A and column j of B only: not on M, N, the blocking, the threads or the address. Splitting the
// rows (micro-batches, data parallel) or the columns (tensor parallel) of a product never changes a bit.
#pragma once

#include "tensor/tensor.h"

namespace ringlet {

/// C = A·B over the last two dims: [M, K] x [K, N] -> [M, N], or with the same leading dims before each ([B, H, M, K] x
/// [B, H, K, N]). Pass `x.transpose(-2, -1)` for a transposed operand: it is read in place, no copy is made.
Tensor matmul(const Tensor& a, const Tensor& b);

/// x·W + b, the bias added last.    x: [M, K]   W: [K, N]   b: [N]   ->   [M, N]
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);

/// C += A·B for 2-D operands: the chain of each element goes on from the value in `c`. `c` contiguous in its last dim.
void matmul_add_into(Tensor& c, const Tensor& a, const Tensor& b);

}  // namespace ringlet
