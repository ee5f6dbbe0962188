// Collectives on buffers that stand in the arena already: every rank reads and writes those of the others where they are.
//
// Two phases whatever the size: all are here, all are done. Memory sees each input read once and each output written once.
#pragma once

#include "collectives/call.h"
#include "collectives/transports/shared_staging.h"

namespace ringlet {

/// Whether `call` is one of those: broadcast, all_gather, all_reduce, reduce, reduce_scatter.
bool can_go_direct(const Call& call);

/// Shows the others where this rank's buffers are, and carries the call out if all are in the arena; else does nothing but
/// one phase, and returns false, on every rank alike. The call has been announced.
bool go_direct(SharedStaging& shared, const Call& call);

}  // namespace ringlet
