// The rounds of an arena as one rank sees them: announce a call, arrive, help, sleep, and what happens when others do not come.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "collectives/transports/shared_arena.h"

namespace ringlet {

class SharedRounds {
 public:
  SharedRounds(SharedArena arena, int rank, int ranks, std::chrono::milliseconds deadline);
  ~SharedRounds();  // the end is a call like any other: who waits for another one with this rank is told at once
  SharedRounds(const SharedRounds&) = delete;
  SharedRounds& operator=(const SharedRounds&) = delete;

  /// The call that the next rounds belong to. Throws CommError when somebody has left or the ranks have disagreed.
  void announce(const Fingerprint& call, const SiteText& site);
  void conclude();

  /// This rank's staging in the coming round.
  std::byte* mine() const { return arena_.staging(round_ + 1, rank_); }
  /// Rank r's, and the result's, in the round that was last completed.
  const std::byte* of(int r) const { return arena_.staging(round_, r); }
  const std::byte* result() const { return arena_.staging(round_, ranks_); }

  /// Returns when all ranks have arrived and `pieces` calls work(i) have been made by whoever was awake.
  template <typename Work>
  void complete(uint32_t pieces, Work&& work) {
    ++round_;
    if (arrive(pieces)) {
      help(pieces, work);
    }
    for (Wait wait = begin_wait(); !finished();) {
      if (open()) {
        help(pieces, work);
      }
      pause(wait);
    }
  }
  /// Returns when all ranks have arrived.
  void meet() {
    complete(0, [](uint32_t) {});
  }

 private:
  struct Wait {
    std::chrono::steady_clock::time_point started{};
    int looks = 0;
  };

  SharedRound& round() const { return arena_.head().rounds[round_ % 2]; }
  bool open() const { return round().phase.load(std::memory_order_acquire) == 2 * round_; }
  bool finished() const { return round().phase.load(std::memory_order_acquire) == 2 * round_ + 1; }
  template <typename Work>
  void help(uint32_t pieces, Work& work) {
    for (uint32_t i = 0; (i = round().next.fetch_add(1)) < pieces;) {
      work(i);
      if (round().done.fetch_add(1) + 1 == pieces) {
        finish();
      }
    }
  }

  bool arrive(uint32_t pieces);
  bool all_agree() const;
  void finish();
  Wait begin_wait() const { return {}; }
  void pause(Wait& wait);
  void wake_all() const;
  void break_from(uint64_t sequence) const;
  int missing() const;
  std::string late_text(int late) const;
  [[noreturn]] void dispute(int peer, const std::string& complaint);

  SharedArena arena_;
  int rank_;
  int ranks_;
  std::chrono::milliseconds deadline_;
  int looks_;  // before sleeping
  int exceptions_;
  uint32_t round_ = 0;
  Fingerprint call_{};
  SiteText site_{};
  bool first_round_ = false;  // of the call: the one that compares
};

}  // namespace ringlet
