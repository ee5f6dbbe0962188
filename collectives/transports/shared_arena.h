// Memory that all ranks of a host see, and how it is divided: who stands where, two rounds, and two sets of staging.
//
// A round t = 1, 2, … is one step of a collective: every rank puts its part into its staging of set t mod 2 and counts itself in.
// Two sets suffice without a second wait: whoever begins round t + 2 has finished t + 1, so everybody has arrived there and
// is done with t.
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
  std::array<std::atomic<uint64_t>, sizeof(Fingerprint) / 8> call{};
  std::array<std::atomic<uint64_t>, sizeof(SiteText) / 8> site{};

  void stand(const Standing& standing);
  Standing standing() const;
};

struct alignas(64) SharedRound {
  std::atomic<uint32_t> arrived{0};
  std::atomic<uint32_t> phase{0};  // 2t: all are here, the work is open; 2t + 1: it is done
  std::atomic<uint32_t> next{0};   // the first piece that nobody has claimed
  std::atomic<uint32_t> done{0};   // pieces that are finished
};

struct alignas(64) SharedHead {
  std::atomic<uint64_t> broken{UINT64_MAX};  // the first call that cannot be completed; nor can any after it
  std::array<SharedRound, 2> rounds{};
};

/// A view of the memory; `memory` keeps it mapped.
class SharedArena {
 public:
  /// What `ranks` ranks need. Zeroed memory of this size, or `prepare` called once before anybody uses it.
  static size_t bytes(int ranks);
  /// Bytes of one staging.
  static size_t segment(int ranks);

  /// `mapped` says whether the memory is there still: MPI takes its windows with it.
  SharedArena(std::shared_ptr<std::byte> memory, int ranks, std::function<bool()> mapped)
      : memory_(std::move(memory)), ranks_(ranks), mapped_(std::move(mapped)) {}
  bool mapped() const { return mapped_(); }
  void prepare() const;

  SharedHead& head() const { return *reinterpret_cast<SharedHead*>(memory_.get()); }
  SharedSeat& seat(int rank) const {
    return reinterpret_cast<SharedSeat*>(memory_.get() + sizeof(SharedHead))[static_cast<size_t>(rank)];
  }
  /// The staging of `rank` in round `t`; that of rank P is for the result.
  std::byte* staging(uint32_t t, int rank) const;

 private:
  std::shared_ptr<std::byte> memory_;
  int ranks_;
  std::function<bool()> mapped_;
};

}  // namespace ringlet
