#include "collectives/transports/shared_rooms.h"

#include <array>
#include <utility>

namespace ringlet {

SharedRooms::SharedRooms(SharedArena arena, int rank)
    : arena_(std::move(arena)),
      rank_(rank),
      heap_(arena_.room(rank), SharedArena::room_bytes(arena_.crowd()), arena_.memory()) {}

std::optional<SharedArena> SharedRooms::open(Communicator& part) {
  std::array<int64_t, 2> place = {rank_, part.rank() == 0 ? give(part.size()) : 0};  // who gives, and where
  part.broadcast(place, 0);
  if (place[1] < 0) {
    return std::nullopt;
  }
  return arena_.part(arena_.room(static_cast<int>(place[0])) + place[1], part.size());
}

// The offset of a prepared arena in this rank's room, or −1.
int64_t SharedRooms::give(int ranks) {
  take_back();
  const size_t bytes = SharedArena::bytes(ranks, SharedArena::kPartRing);
  auto* begin = static_cast<std::byte*>(heap_.try_acquire(bytes));
  if (begin == nullptr) {
    return -1;
  }
  const SharedArena part = arena_.part(begin, ranks);
  part.prepare();
  given_.push_back({part, begin, bytes, ranks});
  return begin - arena_.room(rank_);
}

void SharedRooms::take_back() {
  std::erase_if(given_, [&](const Given& one) {
    const bool over = one.arena.head().left.value.load() == static_cast<uint32_t>(one.ranks);
    if (over) {
      heap_.release(one.begin, one.bytes);
    }
    return over;
  });
}

}  // namespace ringlet
