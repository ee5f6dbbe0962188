// Memory that all ranks of a host see, and how it is divided: who stands where, the phases, and two sets of staging.
//
// A collective goes segment by segment; set k mod 2 of the staging holds what the ranks show each other of segment k. Two sets
// suffice: whoever writes into a set has seen everybody arrive at a phase that comes after the last reading of it.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "collectives/standing.h"

namespace ringlet {

/// One rank's row. Written by its rank only.
struct alignas(64) SharedSeat {
  std::atomic<uint32_t> state{0};  // Standing::State
  std::atomic<int32_t> process{0};
  std::atomic<uint64_t> arrival{0};  // the phase it has arrived at last, and on which core: phase · 2^32 + core
  std::array<std::atomic<uint64_t>, sizeof(Fingerprint) / 8> call{};
  std::array<std::atomic<uint64_t>, sizeof(SiteText) / 8> site{};
  static constexpr int64_t kElsewhere = -1, kNone = -2;  // not in the arena; there is no such buffer
  std::atomic<int64_t> in{kElsewhere}, out{kElsewhere};  // the call's buffers, from the start of the rank's heap
  std::atomic<uint64_t> in_address{0};                   // of one elsewhere that others may read (peer_memory.h), or 0
  std::atomic<uint32_t> unread{0};                       // the phase before which it could not read what it had to, or 0
  std::atomic<uint64_t> mark{0}, mark_address{0};        // what stands in its memory, and where

  void stand(const Standing& standing);
  Standing standing() const;
  /// Its process has ended. A rank that has nothing more to say (`process` is 0) may go.
  bool dead() const;
  bool makes(const Fingerprint& one) const;
  void arrive(uint32_t phase, int core);
  /// Has not arrived at `phase` yet, and was on `core` when it arrived last.
  bool late_on(int core, uint32_t phase) const;
};

struct alignas(64) SharedCounter {
  std::atomic<uint32_t> value{0};
};

struct alignas(64) SharedHead {
  std::atomic<uint64_t> broken{UINT64_MAX};  // the first call that cannot be completed; nor can any after it
  SharedCounter phase{};                     // the last phase that everybody has arrived at; what sleepers wait for
  SharedCounter sleepers{};
  SharedCounter left{};                    // ranks that will not come back
  std::array<SharedCounter, 4> arrived{};  // at phase t: arrived[t mod 4]; nobody is four phases ahead of anybody
};

/// A view of the memory; `memory` keeps it mapped.
class SharedArena {
 public:
  /// What each rank has for arenas of parts of the group, and how long segments are there.
  static size_t room_bytes(int ranks);
  static constexpr size_t kPartSegment = size_t{64} << 10;

  /// The usual length of a segment: bytes that a rank can show at a time.
  static size_t default_segment(int ranks);
  /// Head and staging of `ranks` ranks.
  static size_t bytes(int ranks, size_t segment);
  /// All that a world of `ranks` ranks needs, of which each wants `heap` bytes for buffers: head, staging, rooms, heaps. Zeroed
  /// memory of this size, or `prepare` called once before anybody uses it.
  static size_t world_bytes(int ranks, size_t heap = 0);
  /// What `rank` holds of a world's beside its heap: its staging and its room; rank 0 the head and the results too.
  static size_t share(int ranks, int rank);

  /// A world's. `mapped` says whether the memory is there still: MPI takes its windows with it.
  SharedArena(std::shared_ptr<std::byte> memory, int ranks, std::function<bool()> mapped, size_t heap = 0);
  /// One for `ranks` ranks at `begin` inside this one, without rooms and heaps.
  SharedArena part(std::byte* begin, int ranks) const;
  size_t segment() const { return segment_; }
  /// Ranks that share the cores: the world's, also in a part.
  int crowd() const { return crowd_; }
  bool mapped() const { return mapped_(); }
  void prepare() const;

  SharedHead& head() const { return *reinterpret_cast<SharedHead*>(memory_.get()); }
  SharedSeat& seat(int rank) const {
    return reinterpret_cast<SharedSeat*>(memory_.get() + sizeof(SharedHead))[static_cast<size_t>(rank)];
  }
  /// The staging of `rank` for segment `k`; that of rank P is for the result.
  std::byte* staging(uint32_t k, int rank) const;

  /// The memory of `rank` for arenas of parts.
  std::byte* room(int rank) const;
  /// The memory of `rank` for buffers.
  std::byte* heap(int rank) const;
  size_t heap_bytes() const { return heap_; }
  /// Where `data` begins in the heap of `rank`, or kElsewhere.
  int64_t offset_of(int rank, const void* data, size_t bytes) const;
  const std::shared_ptr<std::byte>& memory() const { return memory_; }

 private:
  std::shared_ptr<std::byte> memory_;
  int ranks_;
  int crowd_;
  std::function<bool()> mapped_;
  size_t segment_;
  size_t heap_;
};

}  // namespace ringlet
