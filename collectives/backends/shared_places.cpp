#include "collectives/backends/shared_places.h"

#include <algorithm>

namespace ringlet {
namespace {

bool gives(const Call& call, int rank) { return call.in.bytes() > 0 && (!from_root(call.operation) || call.peer == rank); }

bool gets(const Call& call, int rank) { return call.operation != Operation::Reduce || rank == call.peer; }

// In place, all_to_all overwrites what others are still to read.
bool stays(const Call& call) { return call.operation != Operation::AllToAll || call.in.data != call.out.data; }

int64_t place_of(const SharedArena& arena, const Call& call, int rank) {
  if (!gives(call, rank)) {
    return SharedSeat::kNone;
  }
  return stays(call) ? arena.offset_of(rank, call.in.data, call.in.bytes()) : SharedSeat::kElsewhere;
}

}  // namespace

SharedPlaces::SharedPlaces(SharedStaging& shared, const Call& call, bool lends) : shared_(shared) {
  constexpr auto kRelaxed = std::memory_order_relaxed;  // the phase orders them
  const SharedArena& arena = shared.arena();
  const int r = shared.rank();
  SharedSeat& mine = arena.seat(r);
  const int64_t in = place_of(arena, call, r);
  const bool lent = in == SharedSeat::kElsewhere && lends && stays(call);
  mine.in.store(in, kRelaxed);
  mine.in_address.store(lent ? reinterpret_cast<uintptr_t>(call.in.data) : 0, kRelaxed);
  mine.out.store(gets(call, r) ? arena.offset_of(r, call.out.data, call.out.bytes()) : SharedSeat::kNone, kRelaxed);
  shared.phases().meet();
  for (int q = 0; q < shared.size(); ++q) {
    const SharedSeat& seat = arena.seat(q);
    const int64_t from = seat.in.load(kRelaxed), to = seat.out.load(kRelaxed);
    const uint64_t address = seat.in_address.load(kRelaxed);
    all_here_ = all_here_ && from != SharedSeat::kElsewhere && to != SharedSeat::kElsewhere;
    in_.push_back({.here = from >= 0 ? arena.heap(q) + from : nullptr,
                   .there = address,
                   .reached = from != SharedSeat::kElsewhere || address != 0});
    out_.push_back(to >= 0 ? arena.heap(q) + to : nullptr);
  }
}

bool SharedPlaces::all_reached(int root) const {
  return root >= 0 ? in_[static_cast<size_t>(root)].reached
                   : std::all_of(in_.begin(), in_.end(), [](const Input& one) { return one.reached; });
}

bool SharedPlaces::take(int r, size_t offset, std::span<std::byte> to) const {
  const Input& one = in_[static_cast<size_t>(r)];
  if (one.here == nullptr) {
    return shared_.read(r, one.there + offset, to);
  }
  shared_.take(one.here + offset, to);
  return true;
}

}  // namespace ringlet
