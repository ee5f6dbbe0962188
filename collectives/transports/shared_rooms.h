// Arenas for parts of a group, inside the arena of the group.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "collectives/communicator.h"
#include "collectives/transports/shared_arena.h"
#include "collectives/transports/shared_heap.h"

namespace ringlet {

/// Each rank has some room of its own, and the first rank of a part gives of it for the part. It takes the room back when all
/// of the part have left.
class SharedRooms {
 public:
  SharedRooms(SharedArena arena, int rank);

  /// Called by all ranks of `part`, which talk over it. Nothing where there is no room left.
  std::optional<SharedArena> open(Communicator& part);

 private:
  int64_t give(int ranks);
  void take_back();

  struct Given {
    SharedArena arena;
    std::byte* begin;
    size_t bytes;
    int ranks;
  };
  SharedArena arena_;
  int rank_;
  SharedHeap heap_;
  std::vector<Given> given_{};
};

}  // namespace ringlet
