// The arithmetic of reductions on the GPU: the twin of collectives/reduce.h, with the same bits.
#pragma once

#include "collectives/nccl/nccl_group.h"

namespace ringlet {

/// Queues on `stream` (a cudaStream_t): out[i] = reduction in order T of element i of the inputs; Avg divides the sum once, PreMulSum
/// scales every input; bf16 in fp32 with one rounding; Min and Max give NaN where any input is NaN. `out` may be one of the inputs.
/// Reads every input once. At most 2^16 inputs.
void queue_reduce_in_order(void* stream, const NcclInputs& inputs, void* out, int64_t n, DType dtype, Reduction op);

}  // namespace ringlet
