// Ranks as threads, each on a GPU of its own.
#pragma once

#include <functional>
#include <memory>

#include "tensor/base/gpu.h"
#include "test/support/run_ranks.h"

namespace ringlet::test {

/// As run_ranks; rank i uses GPU i, and `body` owns its communicator of host memory.
inline void run_gpu_ranks(int size, const std::function<void(std::unique_ptr<Communicator>)>& body,
                          std::chrono::milliseconds deadline = std::chrono::seconds(20)) {
  const auto hub = std::make_shared<MailboxHub>(size, deadline);
  run_ranks(
      size,
      [&](Communicator& outer) {
        gpu().use(outer.rank());
        body(make_p2p(hub->join(outer.rank()), "threads"));
      },
      deadline);
}

}  // namespace ringlet::test
