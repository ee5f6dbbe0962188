// Ranks as threads on an arena of ordinary memory: the shared-memory backend without MPI.
#pragma once

#include <functional>
#include <new>

#include "collectives/backends/shared_memory.h"
#include "test/support/run_ranks.h"

namespace ringlet::test {

/// As run_ranks, over shared memory; `body` owns its communicator.
inline void run_shared(int size, const std::function<void(std::unique_ptr<Communicator>)>& body,
                       std::chrono::milliseconds deadline = std::chrono::seconds(20), const CopyOnce& copy_once = {}) {
  constexpr std::align_val_t kPage{4096};
  constexpr size_t kHeap = size_t{8} << 20;  // for buffers, per rank
  const std::shared_ptr<std::byte> memory(static_cast<std::byte*>(::operator new(SharedArena::world_bytes(size, kHeap), kPage)),
                                          [](std::byte* block) { ::operator delete(block, kPage); });
  const SharedArena arena(
      memory, size, [] { return true; }, kHeap);
  arena.prepare();
  const auto hub = std::make_shared<MailboxHub>(size, deadline);
  run_ranks(
      size,
      [&](Communicator& outer) {
        body(make_shared_memory(arena, make_p2p(hub->join(outer.rank()), "threads"), deadline, true, copy_once));
      },
      deadline);
}

/// As run_ranks, over shared memory.
inline void run_shared(int size, const std::function<void(Communicator&)>& body,
                       std::chrono::milliseconds deadline = std::chrono::seconds(20)) {
  run_shared(size, std::function([&](std::unique_ptr<Communicator> world) { body(*world); }), deadline);
}

/// The same, and what only moves is read from the memory of its rank, however short it is.
inline void run_reading(int size, const std::function<void(Communicator&)>& body,
                        std::chrono::milliseconds deadline = std::chrono::seconds(20)) {
  run_shared(size, std::function([&](std::unique_ptr<Communicator> world) { body(*world); }), deadline, {.from_bytes = 1});
}

}  // namespace ringlet::test
