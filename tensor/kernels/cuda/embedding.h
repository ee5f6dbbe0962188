// The twins of cpu/embedding.h on a GPU: pointers are device pointers, and the call returns before the result is there. Of an
// id outside 0 .. V−1 the row is zeros and the gradient dropped; labels.h tells of it.
#pragma once

#include "tensor/kernels/cpu/embedding.h"

namespace ringlet::kernels::cuda {

template <typename T>
void embedding(const T* table, const int32_t* ids, T* y, int64_t N, int64_t C, int64_t V);

template <typename T>
void embedding_backward(const T* dy, const int32_t* ids, T* dtable, int64_t N, int64_t C, int64_t V);

}  // namespace ringlet::kernels::cuda
