// Rows by id. The ids have been checked.
#pragma once

#include <cstdint>

namespace ringlet::kernels {

/// y[n, :] = table[ids[n], :].
template <typename T>
void embedding(const T* table, const int32_t* ids, T* y, int64_t N, int64_t C);

/// dtable[ids[n], :] += dy[n, :] for n ascending. `dtable` starts as zeros.
template <typename T>
void embedding_backward(const T* dy, const int32_t* ids, T* dtable, int64_t N, int64_t C);

}  // namespace ringlet::kernels
