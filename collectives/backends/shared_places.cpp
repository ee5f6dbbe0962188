#include "collectives/backends/shared_places.h"

namespace ringlet {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;  // the phase orders them

bool gives(const Call& call, int rank) { return call.in.bytes() > 0 && (!from_root(call.operation) || call.peer == rank); }

bool gets(const Call& call, int rank) {
  return call.out.bytes() > 0 && (call.operation != Operation::Reduce || rank == call.peer);
}

// In place, all_to_all overwrites what others are still to read.
bool stays(const Call& call) { return call.operation != Operation::AllToAll || call.in.data != call.out.data; }

struct Shown {
  std::atomic<int64_t>& place;
  std::atomic<uint64_t>& lent;
};

void show(Shown seat, int64_t place, std::span<const std::byte> buffer, bool lends) {
  const bool lent = lends && place == SharedSeat::kElsewhere && PeerMemory::hands_out(buffer);
  seat.place.store(place, kRelaxed);
  seat.lent.store(lent ? reinterpret_cast<uintptr_t>(buffer.data()) : 0, kRelaxed);
}

SharedPlaces::Place found(Shown seat, std::byte* heap) {
  const int64_t place = seat.place.load(kRelaxed);
  const uint64_t lent = seat.lent.load(kRelaxed);
  return {.here = place >= 0 ? heap + place : nullptr, .there = lent, .reached = place != SharedSeat::kElsewhere || lent != 0};
}

}  // namespace

SharedPlaces::SharedPlaces(SharedStaging& shared, const Call& call, bool lends) : shared_(shared) {
  const SharedArena& arena = shared.arena();
  const int r = shared.rank();
  const auto place_of = [&](const void* data, size_t bytes) { return arena.offset_of(r, data, bytes); };
  const int64_t in = !gives(call, r) ? SharedSeat::kNone
                     : stays(call)   ? place_of(call.in.data, call.in.bytes())
                                     : SharedSeat::kElsewhere;
  const int64_t out = gets(call, r) ? place_of(call.out.data, call.out.bytes()) : SharedSeat::kNone;
  const bool output_is_read = call.operation == Operation::AllReduce;
  SharedSeat& mine = arena.seat(r);
  show({mine.in, mine.in_lent}, in, {call.in.begin(), call.in.bytes()}, lends && stays(call));
  show({mine.out, mine.out_lent}, out, {call.out.begin(), call.out.bytes()}, lends && output_is_read);
  shared.phases().meet();
  for (int q = 0; q < shared.size(); ++q) {
    SharedSeat& seat = arena.seat(q);
    in_.push_back(found({seat.in, seat.in_lent}, arena.heap(q)));
    out_.push_back(found({seat.out, seat.out_lent}, arena.heap(q)));
  }
}

void SharedPlaces::take(int r, const std::vector<Place>& places, size_t offset, std::span<std::byte> to) const {
  const Place& one = places[static_cast<size_t>(r)];
  if (one.here == nullptr) {
    shared_.read(r, one.there + offset, to);
  } else {
    shared_.take<std::byte>(one.here + offset, to);
  }
}

}  // namespace ringlet
