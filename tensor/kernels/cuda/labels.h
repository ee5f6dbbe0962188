// The twins of cpu/labels.h on a GPU: pointers, `counted` too, are device pointers, and the calls return before anything is
// counted. The first fault of a host thread's stream is kept until that thread has waited.
#pragma once

#include "tensor/kernels/cpu/labels.h"

namespace ringlet::kernels::cuda {

void count_labels(const int32_t* labels, int64_t n, int32_t ignored, int64_t V, int64_t* counted);
void check_ids(const int32_t* ids, int64_t n, int64_t V);

/// For those who wait for the device, after the wait: throws the `Error` of the first id or label out of range that kernels of
/// the calling thread met since the last call, if there was one, and forgets it.
void fail_for_label_fault();

}  // namespace ringlet::kernels::cuda
