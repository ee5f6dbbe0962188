// What the ranks of an arena show each other: copying in, copying out, and which set of the staging is whose turn.
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
      : phases_(arena, rank, ranks, deadline), peers_(std::move(arena), rank), rank_(rank), ranks_(ranks) {}

  SharedPhases& phases() { return phases_; }
  const SharedArena& arena() const { return phases_.arena(); }
  int rank() const { return rank_; }
  int size() const { return ranks_; }
  /// Bytes that a rank can show at a time.
  size_t segment() const { return arena().segment(); }

  /// Turns to the other set. It is free: nobody is more than one segment behind.
  void next() { ++set_; }
  uint32_t set() const { return set_; }

  template <typename T>
  void show(std::span<const T> data, size_t offset = 0) {
    if (!data.empty()) {
      std::memcpy(at<T>(rank_, set_) + offset, data.data(), data.size_bytes());
    }
    copied_ += data.size_bytes();
  }
  template <typename T>
  const T* shown_by(int r) const {
    return at<T>(r, set_);
  }
  template <typename T>
  T* own_staging() const {
    return at<T>(rank_, set_);
  }
  /// Room for what all ranks made of segment `set` together, each a part.
  template <typename T>
  T* result(uint32_t set) const {
    return at<T>(ranks_, set);
  }

  /// How much all ranks together are about to take: what cannot stay in a cache goes past it.
  void expect(size_t bytes) { past_caches_ = bytes > kCached; }
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

  /// The same of what is not in the arena: `from` is an address in the memory of rank r. False where the kernel does not hand that
  /// out; gives the call up where the rank is gone.
  template <typename T>
  bool read(int r, uint64_t from, std::span<T> to) {
    const int error = peers_.read(r, from, std::as_writable_bytes(to));
    if (error == ESRCH) {
      phases_.give_up(r, message("rank {} is gone, with the memory that was to be read", r));
    }
    copied_ += error == 0 ? to.size_bytes() : 0;
    return error == 0;
  }

 private:
  static constexpr size_t kCached = size_t{16} << 20;

  template <typename T>
  T* at(int r, uint32_t set) const {
    return reinterpret_cast<T*>(phases_.arena().staging(set, r));
  }

  SharedPhases phases_;
  PeerMemory peers_;
  int rank_;
  int ranks_;
  uint32_t set_ = 0;
  bool past_caches_ = false;
  size_t copied_ = 0;
};

}  // namespace ringlet
