// Rows by id. The ids have been checked (labels.h); on a device, where the check is read later, the row of an id outside 0 .. V−1
// is zeros, and its gradient is dropped.
#pragma once

#include <cstdint>

namespace ringlet::kernels {

/// y[n, :] = table[ids[n], :].    table: [V, C]   y: [N, C]
template <typename T>
void embedding(const T* table, const int32_t* ids, T* y, int64_t N, int64_t C, int64_t V);

/// dtable[ids[n], :] += dy[n, :] for n ascending. `dtable` starts as zeros.
template <typename T>
void embedding_backward(const T* dy, const int32_t* ids, T* dtable, int64_t N, int64_t C, int64_t V);

}  // namespace ringlet::kernels
