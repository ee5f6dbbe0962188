// start_* that makes progress while the caller computes, over any backend.
#pragma once

#include <memory>

#include "collectives/communicator.h"

namespace ringlet {

/// `inner` and all that is split from it, with one communication thread for the rank: collectives that were started go on there, in
/// the order in which they were started. A blocking collective, a message and a split first wait for them. What was started and is
/// small (below 64 KB) may be left until somebody waits for it: to wake a thread takes longer. The thread begins with the first
/// collective that is worth it. `inner` must bear to be called from two threads in turn.
std::unique_ptr<Communicator> make_asynchronous(std::unique_ptr<Communicator> inner);

}  // namespace ringlet
