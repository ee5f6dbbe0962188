// Products by cuBLASLt, the part of cuBLAS that chooses among its kernels by shape and fuses what follows a product into it.
#pragma once

#include <cstdint>

#include "tensor/base/dtype.h"

namespace ringlet::kernels::cuda {

/// A matrix as cuBLASLt takes it: rows (or, transposed, columns) one after the other, `ld` elements apart.
struct LtMatrix {
  const void* data;
  bool transposed;
  int64_t ld;
  int64_t step;  // elements from one product of a batch to the next
};

/// C = A·B, or C += A·B, or C = A·B + bias, for each of a batch.   A: [M, K]   B: [K, N]   C: [M, N], rows `ldc` apart   bias: [N]
struct LtProduct {
  DType dtype;
  int64_t M, N, K;
  LtMatrix A, B;
  void* C;
  int64_t ldc, c_step;
  int64_t batches;
  bool adds;
  const void* bias;  // or null; not together with `adds` or a batch
  bool tf32;
};

/// Queues it on the stream of this thread. False, and nothing is done, where cuBLASLt has no kernel for it. Throws `DeviceError`.
/// The first product of a thread takes 32 MB of device memory, which cuBLAS asks for on an H100 or H200, and gives it back with the
/// thread; the first of a shape asks cuBLASLt for its choice (about 50 us), which is kept.
bool run_lt_product(const LtProduct& product);

}  // namespace ringlet::kernels::cuda
