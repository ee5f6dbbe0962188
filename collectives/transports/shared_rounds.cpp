#include "collectives/transports/shared_rounds.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/transports/futex.h"
#include "collectives/transports/process.h"

namespace ringlet {
namespace {

using Clock = std::chrono::steady_clock;
using State = Standing::State;

// With a core for every rank the answer is there within microseconds, and sleeping would cost as much again. With fewer, every
// look takes the core from a rank that is waited for.
constexpr int kLooksWithOwnCore = 4000;
constexpr int kLooksWithout = 50;
constexpr std::chrono::milliseconds kNap(100);  // between looks at who lives
constexpr std::chrono::seconds kTimeToAnswer(1);

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

bool gone(const Standing& one) { return one.state == State::Left || one.state == State::Failed; }

}  // namespace

SharedRounds::SharedRounds(SharedArena arena, int rank, int ranks, std::chrono::milliseconds deadline)
    : arena_(std::move(arena)),
      rank_(rank),
      ranks_(ranks),
      deadline_(deadline),
      looks_(ranks <= static_cast<int>(std::thread::hardware_concurrency()) ? kLooksWithOwnCore : kLooksWithout),
      exceptions_(std::uncaught_exceptions()) {
  arena_.seat(rank).process.store(this_process());
}

SharedRounds::~SharedRounds() {
  if (!arena_.mapped()) {
    return;
  }
  SharedSeat& seat = arena_.seat(rank_);
  const bool disputing = seat.standing().state == State::InCall && call_.sequence >= arena_.head().broken.load();
  if (!disputing) {
    const Fingerprint end = leaving_after(call_.sequence, call_.group);
    seat.stand({std::uncaught_exceptions() > exceptions_ ? State::Failed : State::Left, end, site_});
    for (int r = 0; r < ranks_; ++r) {
      const Standing other = arena_.seat(r).standing();
      if (other.state == State::InCall && other.call.sequence >= end.sequence) {
        break_from(end.sequence);
      }
    }
  }
}

void SharedRounds::announce(const Fingerprint& call, const SiteText& site) {
  call_ = call;
  site_ = site;
  first_round_ = true;
  arena_.seat(rank_).stand({State::InCall, call, site});
  for (int r = 0; r < ranks_; ++r) {
    const Standing other = arena_.seat(r).standing();
    if (gone(other) && other.call.sequence <= call.sequence) {
      dispute(r, message("rank {} is gone", r));
    }
  }
  if (call.sequence >= arena_.head().broken.load()) {
    dispute(-1, "the ranks have disagreed before");
  }
}

void SharedRounds::conclude() {
  arena_.seat(rank_).state.store(static_cast<uint32_t>(State::Outside), std::memory_order_release);
}

// True for the last one, who has opened the work.
bool SharedRounds::arrive(uint32_t pieces) {
  const bool compare = std::exchange(first_round_, false);
  SharedRound& here = round();
  if (here.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 < static_cast<uint32_t>(ranks_)) {
    return false;
  }
  if (compare && !all_agree()) {
    dispute(-1, "the ranks make different calls");
  }
  here.arrived.store(0, std::memory_order_relaxed);  // nobody comes to this round again before the one after the next
  here.next.store(0, std::memory_order_relaxed);
  here.done.store(0, std::memory_order_relaxed);
  if (pieces == 0) {
    finish();
    return false;
  }
  here.phase.store(2 * round_, std::memory_order_release);
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  if (const int helpers = std::min({static_cast<int>(pieces) - 1, ranks_ - 1, cores - 1}); helpers > 0) {
    futex_wake(here.phase, helpers);
  }
  return true;
}

bool SharedRounds::all_agree() const {
  for (int r = 0; r < ranks_; ++r) {
    if (arena_.seat(r).standing().call != call_) {
      return false;
    }
  }
  return true;
}

void SharedRounds::finish() {
  round().phase.store(2 * round_ + 1, std::memory_order_release);
  futex_wake(round().phase, ranks_);
}

// Looks again soon, or sleeps; notices when waiting has become pointless.
void SharedRounds::pause(Wait& wait) {
  const uint32_t seen = round().phase.load(std::memory_order_acquire);
  if (seen == 2 * round_ + 1) {
    return;
  }
  if (++wait.looks < looks_) {
    return relax();
  }
  if (wait.started == Clock::time_point()) {
    wait.started = Clock::now();
  }
  if (call_.sequence >= arena_.head().broken.load()) {
    dispute(-1, "another rank could not complete its call");
  }
  futex_wait(round().phase, seen, std::min<std::chrono::nanoseconds>(kNap, deadline_));
  for (int r = 0; r < ranks_; ++r) {
    const int process = arena_.seat(r).process.load();
    if (Clock::now() - wait.started > kNap && is_dead(process)) {
      dispute(r, message("rank {} is dead (process {})", r, process));
    }
  }
  if (Clock::now() - wait.started > deadline_ && !finished()) {
    const int late = missing();
    dispute(late, late_text(late));
  }
}

std::string SharedRounds::late_text(int late) const {
  return message("rank {} has not come within the deadline of {} ms", late, deadline_.count());
}

int SharedRounds::missing() const {
  for (int r = 0; r < ranks_; ++r) {
    const Standing one = arena_.seat(r).standing();
    if (one.state != State::InCall || one.call.sequence < call_.sequence) {
      return r;
    }
  }
  return -1;
}

void SharedRounds::break_from(uint64_t sequence) const {
  std::atomic<uint64_t>& broken = arena_.head().broken;
  uint64_t before = broken.load();
  while (sequence < before && !broken.compare_exchange_weak(before, sequence)) {
  }
  wake_all();
}

void SharedRounds::wake_all() const {
  for (SharedRound& one : arena_.head().rounds) {
    futex_wake(one.phase, std::numeric_limits<int>::max());
  }
}

// Breaks the group, gives the others a moment to say where they stand, and throws what that comes to.
void SharedRounds::dispute(int peer, const std::string& complaint) {
  break_from(call_.sequence);
  std::vector<Standing> standings(static_cast<size_t>(ranks_));
  const auto limit = Clock::now() + kTimeToAnswer;
  for (bool all = false; !all && Clock::now() < limit;) {
    all = true;
    for (int r = 0; r < ranks_; ++r) {
      Standing& one = standings[static_cast<size_t>(r)];
      one = arena_.seat(r).standing();
      if (!gone(one) && is_dead(arena_.seat(r).process.load())) {
        one.state = State::Dead;
      }
      all &= gone(one) || one.state == State::Dead || one.call.sequence >= call_.sequence;
    }
    if (!all) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  if (const int late = peer < 0 ? missing() : -1; late >= 0) {  // it was another rank's deadline that has passed
    throw disagreement(rank_, late, late_text(late), standings);
  }
  throw disagreement(rank_, peer, complaint, standings);
}

}  // namespace ringlet
