// Ranks as threads on an arena of ordinary memory: the shared-memory backend without MPI.
#pragma once

#include <functional>
#include <new>

#include "collectives/backends/shared_memory.h"
#include "test/support/run_ranks.h"

namespace ringlet::test {

/// A prepared arena of ordinary memory.
inline SharedArena plain_arena(int ranks, size_t heap = 0, int cores = cores_of_this_host()) {
  constexpr std::align_val_t kPage{4096};
  const std::shared_ptr<std::byte> memory(
      static_cast<std::byte*>(::operator new(SharedArena::world_bytes(ranks, heap, cores), kPage)),
      [](std::byte* block) { ::operator delete(block, kPage); });
  SharedArena arena(
      memory, ranks, [] { return true; }, heap, cores);
  arena.prepare();
  return arena;
}

/// As run_ranks, over shared memory, as on a host with so many cores; `body` owns its communicator.
inline void run_shared(int size, const std::function<void(std::unique_ptr<Communicator>)>& body,
                       std::chrono::milliseconds deadline = std::chrono::seconds(20), const CopyOnce& copy_once = {},
                       int cores = cores_of_this_host()) {
  constexpr size_t kHeap = size_t{8} << 20;  // for buffers, per rank
  const SharedArena arena = plain_arena(size, kHeap, cores);
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

/// The same as on a host with a core for each.
inline void run_shared_apart(int size, const std::function<void(Communicator&)>& body,
                             std::chrono::milliseconds deadline = std::chrono::seconds(20)) {
  run_shared(size, std::function([&](std::unique_ptr<Communicator> world) { body(*world); }), deadline, {}, size);
}

/// What can be read in the memory of its rank is, however short.
inline const CopyOnce kReadAll{.broadcasts_from = 1, .moves_from = 1, .reduces_from = 1};

/// As run_shared, and what can be is read in the memory of its rank.
inline void run_reading(int size, const std::function<void(Communicator&)>& body,
                        std::chrono::milliseconds deadline = std::chrono::seconds(20)) {
  run_shared(size, std::function([&](std::unique_ptr<Communicator> world) { body(*world); }), deadline, kReadAll);
}

}  // namespace ringlet::test
