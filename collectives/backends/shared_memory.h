// Collectives between the ranks of one host through shared memory, by arriving and helping.
//
// Every rank puts its part into the arena and counts itself in: one atomic. Who is not the last looks for the end a short while
// and then sleeps. The last one opens the work; it and everybody awake claim pieces, reduce them in order T, and who finishes the
// last piece wakes all. So a rank sleeps once and is woken once per round, nobody spins on a core that another rank needs, and
// the result does not depend on who did what. The fingerprints are compared by the last to arrive, before anything is opened.
//
// Cost of a round of at most one segment of s bytes: all_reduce 2s in, P·s + s reduced, 2s out per rank.
#pragma once

#include <chrono>
#include <memory>

#include "collectives/communicator.h"
#include "collectives/transports/shared_arena.h"

namespace ringlet {

/// `messages` is a communicator of the same ranks: it carries send, recv and the parts of a split. The arena is prepared.
std::unique_ptr<Communicator> make_shared_memory(SharedArena arena, std::unique_ptr<Communicator> messages,
                                                 std::chrono::milliseconds deadline);

}  // namespace ringlet
