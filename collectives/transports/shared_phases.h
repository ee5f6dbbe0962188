// The phases of an arena as one rank sees them: announce a call, arrive, wait for the rest, and what happens when they do not come.
//
// A phase is over when all ranks have arrived at it. Arriving and waiting are two steps, so that a rank can work in between;
// what others must have done is there when `wait` returns. The first phase of a call compares the fingerprints.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "collectives/transports/patience.h"
#include "collectives/transports/shared_arena.h"

namespace ringlet {

class SharedPhases {
 public:
  SharedPhases(SharedArena arena, int rank, int ranks, std::chrono::milliseconds deadline);
  ~SharedPhases();  // the end is a call like any other: who waits for another one with this rank is told at once
  SharedPhases(const SharedPhases&) = delete;
  SharedPhases& operator=(const SharedPhases&) = delete;

  /// The call that the next phases belong to. Throws CommError when somebody has left or the ranks have disagreed.
  void announce(const Fingerprint& call, const SiteText& site);
  void conclude();

  /// Counts this rank in at the next phase, and gives its number: what this rank has written so far, others may read after it.
  /// At most three phases may be arrived at and not waited for.
  uint32_t arrive();
  /// Returns when all ranks have arrived at `phase`.
  void wait(uint32_t phase) { wait_looking(phase, 0); }
  void meet() { wait(arrive()); }
  /// The meeting after reading from others. Throws where the call has been given up, also by one who was here already: it may have
  /// taken along what was read. Of `bytes` that others read, who has a core looks until they have.
  void meet_after_reading(size_t bytes);
  /// Gives the call up because of `peer`: throws, here and on all others. Who has been given up before him is told of instead.
  [[noreturn]] void give_up(int peer, const std::string& complaint) {
    require_unbroken();
    dispute(peer, complaint);
  }
  /// Communicator::look_after_peers.
  void look_for_the_failed();

  const SharedArena& arena() const { return arena_; }

 private:
  bool over(uint32_t phase) const {
    return static_cast<int32_t>(arena_.head().phase.value.load(std::memory_order_acquire) - phase) >= 0;
  }
  void wait_looking(uint32_t phase, int expected);
  bool all_agree() const;
  void require_unbroken();
  bool late_one_on_this_core(uint32_t phase) const;
  void sleep(uint32_t phase) const;
  void look_after_peers(uint32_t phase, std::chrono::steady_clock::duration waited);
  void wake_all() const;
  void break_from(uint64_t sequence) const;
  bool all_here() const;
  int missing(uint32_t phase) const;
  [[noreturn]] void dispute(int peer, const std::string& complaint);

  SharedArena arena_;
  int rank_;
  int ranks_;
  std::chrono::milliseconds deadline_;
  int exceptions_;
  Patience patience_{};
  bool core_for_each_;
  uint32_t phase_ = 0;  // the last one that this rank has arrived at
  Fingerprint call_{};
  SiteText site_{};
  bool first_phase_ = false;  // of the call: the one that compares
};

}  // namespace ringlet
