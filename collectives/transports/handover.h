// How long it takes a line of memory to go from the cache of one core into that of another and back.
//
// On one die that is some 100 ns, between dies or sockets several times as much; and where lines come so slowly, what ranks show each
// other by writing it for the other to read is slow as well, whatever its size. Memory that nobody has just written is not.
#pragma once

#include "collectives/transports/shared_arena.h"

namespace ringlet {

/// (all, before the first phase, with a core each) Nanoseconds there and back, the median of many between rank 0 and the rank that is
/// farthest from it. Takes some 50 us for each rank, 10 ms at most. Where others want the cores, what came of it between; 0 where
/// nothing did, for a wait for a core says nothing of how far it is. All ranks know it after they have next met.
void measure_handover(const SharedArena& arena, int rank, int ranks);

}  // namespace ringlet
