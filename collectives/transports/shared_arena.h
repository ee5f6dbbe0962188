// Memory that all ranks of a host see, and how it is divided: who stands where, the phases, and a ring of staging for each rank.
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
#include "collectives/transports/process.h"

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
  std::atomic<uint64_t> in_lent{0}, out_lent{0};   // addresses of those elsewhere that others may read (peer_memory.h), or 0
  std::atomic<uint64_t> mark{0}, mark_address{0};  // what stands in its memory, and where

  void stand(const Standing& standing);
  Standing standing() const;
  /// Its process has ended. A rank that has nothing more to say (`process` is 0) may go.
  bool dead() const;
  bool makes(const Fingerprint& one) const;
  void arrive(uint32_t phase, int core);
  /// Has not arrived at `phase` yet.
  bool late(uint32_t phase) const;
  /// The same, and was on `core` when it arrived last.
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
  SharedCounter ball{};                    // thrown to and fro, once (handover.h)
  std::atomic<double> handover_ns{0};      // how long that took; 0: nobody knows
  std::array<SharedCounter, 4> arrived{};  // at phase t: arrived[t mod 4]; nobody is four phases ahead of anybody
};

/// A view of the memory; `memory` keeps it mapped.
class SharedArena {
 public:
  /// What each rank has for arenas of parts of the group, and how long a ring of staging is there.
  static size_t room_bytes(int ranks);
  static constexpr size_t kPartRing = size_t{128} << 10;

  /// Bytes of staging that a rank of a world has, on a host with so many cores.
  static size_t world_ring(int ranks, int cores = cores_of_this_host());
  /// Head and staging of `ranks` ranks.
  static size_t bytes(int ranks, size_t ring);
  /// All that a world of `ranks` ranks needs, of which each wants `heap` bytes for buffers: head, staging, rooms, heaps. Zeroed
  /// memory of this size, or `prepare` called once before anybody uses it.
  static size_t world_bytes(int ranks, size_t heap = 0, int cores = cores_of_this_host());

  /// A world's. `mapped` says whether the memory is there still: MPI takes its windows with it.
  SharedArena(std::shared_ptr<std::byte> memory, int ranks, std::function<bool()> mapped, size_t heap = 0,
              int cores = cores_of_this_host());
  /// One for `ranks` ranks at `begin` inside this one, without rooms and heaps.
  SharedArena part(std::byte* begin, int ranks) const;
  /// Bytes of staging that each rank has (shared_staging.h says how they are used).
  size_t ring() const { return ring_; }
  /// Ranks that share the cores: the world's, also in a part.
  int crowd() const { return crowd_; }
  /// Each of them can have one for itself.
  bool core_for_each() const { return crowd_ <= cores_; }
  bool mapped() const { return mapped_(); }
  void prepare() const;

  SharedHead& head() const { return *reinterpret_cast<SharedHead*>(memory_.get()); }
  SharedSeat& seat(int rank) const {
    return reinterpret_cast<SharedSeat*>(memory_.get() + sizeof(SharedHead))[static_cast<size_t>(rank)];
  }
  /// The ring of `rank`; that of rank P is for what they make together.
  std::byte* staging(int rank) const;
  /// Maps the pages of all rings, or later calls would stop for them one by one, as long as they come to new ones.
  void map_staging() const;

  /// What `rank` holds of a world's beside its heap: its staging and its room; rank 0 the head and the results too.
  size_t share(int rank) const;
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
  int cores_;
  std::function<bool()> mapped_;
  size_t ring_;
  size_t heap_;
};

}  // namespace ringlet
