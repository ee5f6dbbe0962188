// What the ranks of an arena show each other: copying in, copying out, and where in its ring of staging a rank writes next.
//
// A collective goes segment by segment, and each segment takes a turn of the ring, which is at the same place in the rings of all
// ranks. A turn is free again when all have come to a phase after the last reading of it. There are two ways round:
//   Round and round.  Each turn begins where the last one ended; a segment is an eighth of the ring, so that nothing of the three
//                     turns before is written over. It is for ranks with a core each: what another core has read stays in its
//                     cache, and the next write to it must first fetch it back, at a quarter of the speed. Once round the ring is
//                     more than a core's own caches hold: by then the other one has let go of it.
//   To and fro.       Two halves take turns, and only one may be under way when the next begins. It is for ranks that share cores:
//                     what they have just used is in the cache of the core, whoever's it was. So are the rings of parts of a
//                     group, which are too short to go round.
#pragma once

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "collectives/transports/peer_memory.h"
#include "collectives/transports/shared_phases.h"
#include "collectives/transports/streaming_copy.h"

namespace ringlet {

/// A segment of a collective: `next` once, `show` on whoever has something, a phase, `shown_by` on whoever needs it.
class SharedStaging {
 public:
  SharedStaging(SharedArena arena, int rank, int ranks, std::chrono::milliseconds deadline)
      : phases_(arena, rank, ranks, deadline),
        peers_(arena, rank),
        rank_(rank),
        ranks_(ranks),
        round_(arena.core_for_each() && arena.ring() > SharedArena::kPartRing),
        ring_(arena.ring()) {
    arena.map_staging();
  }

  SharedPhases& phases() { return phases_; }
  const SharedArena& arena() const { return phases_.arena(); }
  int rank() const { return rank_; }
  int size() const { return ranks_; }
  /// Bytes that a rank can show at a time.
  size_t segment() const { return ring_ / (round_ ? 8 : 2); }
  /// Two turns more may be begun before all have read of one.
  bool goes_round() const { return round_; }

  static constexpr size_t kLine = 64;
  static size_t whole_lines(size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

  /// Where in the rings a segment is.
  using Turn = size_t;
  /// The next turn, of `bytes` on all ranks alike: at most a segment.
  Turn next(size_t bytes) {
    const Turn turn = next_;
    const size_t end = turn + (round_ ? whole_lines(bytes) : segment());
    next_ = end + segment() <= ring_ ? end : 0;
    return turn;
  }

  template <typename T>
  void show(Turn turn, std::span<const T> data, size_t offset = 0) {
    if (!data.empty()) {
      std::memcpy(at<T>(rank_, turn) + offset, data.data(), data.size_bytes());
    }
    copied_ += data.size_bytes();
  }
  template <typename T>
  const T* shown_by(int r, Turn turn) const {
    return at<T>(r, turn);
  }
  /// The ring of this rank, as room to work in after a phase at whose start nobody has anything to read of it.
  std::span<std::byte> own_ring() const { return {at<std::byte>(rank_, 0), ring_}; }
  /// Room for what all ranks make of a segment together, each a part.
  template <typename T>
  T* result(Turn turn) const {
    return at<T>(ranks_, turn);
  }

  /// What all ranks write together, if it is so much, can stay in a cache.
  static bool stays_in_caches(size_t bytes) { return bytes <= kCached; }
  /// How much all ranks together are about to take: what cannot stay in a cache goes past it.
  void expect(size_t bytes) { past_caches_ = !stays_in_caches(bytes); }
  /// Bytes that `show` and `take` have copied so far.
  size_t copied() const { return copied_; }
  template <typename T>
  void take(const T* from, std::span<T> to) {
    copied_ += to.size_bytes();
    if (past_caches_) {
      streaming_copy(to.data(), from, to.size_bytes());
    } else if (!to.empty()) {
      std::memcpy(to.data(), from, to.size_bytes());
    }
  }

  /// The same of what is not in the arena: `from` is an address in the memory of rank r. Gives the call up where it cannot be read.
  template <typename T>
  void read(int r, uint64_t from, std::span<T> to) {
    if (const int error = peers_.read(r, from, std::as_writable_bytes(to)); error != 0) {
      phases_.give_up(r, error == ESRCH ? message("rank {} is gone, with the memory that was to be read", r)
                                        : message("the buffer of rank {} cannot be read: {}", r, std::strerror(error)));
    }
    copied_ += to.size_bytes();
  }

 private:
  static constexpr size_t kCached = size_t{16} << 20;

  template <typename T>
  T* at(int r, Turn turn) const {
    return reinterpret_cast<T*>(phases_.arena().staging(r) + turn);
  }

  SharedPhases phases_;
  PeerMemory peers_;
  int rank_;
  int ranks_;
  bool round_;
  size_t ring_;
  size_t next_ = 0;
  bool past_caches_ = false;
  size_t copied_ = 0;
};

}  // namespace ringlet
