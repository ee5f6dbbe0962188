// The collectives of ringlet in terms of NCCL's calls, its messages and one kernel of ours.
#pragma once

#include "collectives/algorithms/algorithm.h"
#include "collectives/backends/nccl_inbox.h"
#include "collectives/call.h"

namespace ringlet {

/// Who adds: NCCL itself where nobody can see in which order it does, our kernel in order T where one could.
///   integers                       NCCL: sums and products wrap, so that every order has the same bits
///   floats, sum of two ranks       NCCL: a + b is b + a; of bf16 the exact sum is rounded once on both sides
///   floats, min and max            ours: NCCL's lose a NaN
///   other floats                   ours; with ReductionOrder::Any NCCL, which for an average scales every input by 1/P first
bool nccl_adds(Reduction op, DType dtype, int ranks, ReductionOrder order);

/// Bytes of the inbox that a reduction needs on the rank that has most of it (Communicator::scratch_bytes).
int64_t inbox_bytes(const Call& call, int ranks, ReductionOrder order);

/// Queues a checked collective that has buffers, of `size` ranks, of which this is `rank`, on the stream of `group`.
void queue_collective(NcclGroup& group, NcclInbox& inbox, const Call& call, int rank, int size, ReductionOrder order);

}  // namespace ringlet
