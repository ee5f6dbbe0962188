// Ranks as threads over shared memory, each with a communication thread beside it.
#pragma once

#include "collectives/asynchronous.h"
#include "test/support/run_shared.h"

namespace ringlet::test {

/// As run_shared, with start_* that goes on by itself.
inline void run_asynchronous(int size, const std::function<void(Communicator&)>& body,
                             std::chrono::milliseconds deadline = std::chrono::seconds(20)) {
  run_shared(size, std::function([&](std::unique_ptr<Communicator> world) { body(*make_asynchronous(std::move(world))); }),
             deadline);
}

}  // namespace ringlet::test
