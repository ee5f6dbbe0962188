// Collectives that read the buffers of the other ranks where they are, and copy nothing in.
//
// Two phases whatever the size: all are here, all are done. Buffers in the arena are read and written by everybody: memory sees each
// input read once and each output written once. What only moves, and an all_reduce, can be read in the memory of its rank too
// (peer_memory.h). An all_reduce in which nobody writes into the output of another has a third phase, when all have reduced their chunk.
#pragma once

#include "collectives/call.h"
#include "collectives/transports/shared_staging.h"

namespace ringlet {

/// Whether `call` is one of those: not reduce_scatter_v and all_to_all_v.
bool can_go_direct(const Call& call);

/// Shows the others where this rank's buffers are, and carries the call out if they can be reached: in the arena or, where this rank
/// `lends` its memory, as all do or none, by reading there. Else returns false, on every rank alike, and the inputs are as they were.
/// The call has been announced.
bool go_direct(SharedStaging& shared, const Call& call, bool lends);

}  // namespace ringlet
