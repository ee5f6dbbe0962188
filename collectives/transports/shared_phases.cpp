#include "collectives/transports/shared_phases.h"

#include <sched.h>

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

constexpr std::chrono::milliseconds kNap(100);  // between looks at who lives
constexpr std::chrono::seconds kTimeToAnswer(1);

bool gone(const Standing& one) { return one.state == State::Left || one.state == State::Failed; }

}  // namespace

SharedPhases::SharedPhases(SharedArena arena, int rank, int ranks, std::chrono::milliseconds deadline)
    : arena_(std::move(arena)),
      rank_(rank),
      ranks_(ranks),
      deadline_(deadline),
      exceptions_(std::uncaught_exceptions()),
      core_for_each_(arena_.crowd() <= cores_of_this_process()) {
  arena_.seat(rank).process.store(this_process());
}

SharedPhases::~SharedPhases() {
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
  arena_.head().left.value.fetch_add(1);
}

void SharedPhases::announce(const Fingerprint& call, const SiteText& site) {
  call_ = call;
  site_ = site;
  first_phase_ = true;
  arena_.seat(rank_).stand({State::InCall, call, site});
  if (call.sequence >= arena_.head().broken.load()) {
    dispute(-1, "the ranks have disagreed before");
  }
}

void SharedPhases::conclude() {
  arena_.seat(rank_).state.store(static_cast<uint32_t>(State::Outside), std::memory_order_release);
}

// [snippet: arrive]
uint32_t SharedPhases::arrive() {
  const bool compare = std::exchange(first_phase_, false);
  SharedHead& head = arena_.head();
  std::atomic<uint32_t>& arrived = head.arrived[++phase_ % head.arrived.size()].value;
  arena_.seat(rank_).arrive(phase_, sched_getcpu());
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 < static_cast<uint32_t>(ranks_)) {
    return phase_;
  }
  if (compare && !all_agree()) {
    dispute(-1, "the ranks make different calls");
  }
  arrived.store(0, std::memory_order_relaxed);
  head.phase.value.store(phase_);  // sequentially consistent, like the sleepers' count: either this rank sees the sleeper,
  if (head.sleepers.value.load() > 0) {  // or the sleeper sees the phase
    futex_wake(head.phase.value, ranks_);
    patience_.has_woken();
  }
  return phase_;
}
// [/snippet]

bool SharedPhases::all_agree() const {
  for (int r = 0; r < ranks_; ++r) {
    if (!arena_.seat(r).makes(call_)) {
      return false;
    }
  }
  return true;
}

void SharedPhases::wait_looking(uint32_t phase, int expected) {
  if (over(phase)) {
    return;
  }
  Clock::time_point since{};
  patience_.begin(expected);
  do {
    switch (patience_.next([&] { return late_one_on_this_core(phase); })) {
      case Patience::Next::Look: Patience::look(); break;
      case Patience::Next::Yield: sched_yield(); break;
      case Patience::Next::Sleep:
        since = since == Clock::time_point() ? Clock::now() : since;
        require_unbroken();
        look_after_peers(phase, Clock::now() - since);
        sleep(phase);
    }
  } while (!over(phase));
  patience_.end();
}

void SharedPhases::meet_after_reading(size_t bytes) {
  wait_looking(arrive(), core_for_each_ ? Patience::looks_to_read(bytes) : 0);
  require_unbroken();
}

void SharedPhases::require_unbroken() {
  if (call_.sequence >= arena_.head().broken.load()) {
    dispute(-1, "another rank could not complete its call");
  }
}

bool SharedPhases::late_one_on_this_core(uint32_t phase) const {
  const int core = sched_getcpu();
  for (int r = 0; r < ranks_; ++r) {
    if (r != rank_ && arena_.seat(r).late_on(core, phase)) {
      return true;
    }
  }
  return false;
}

// [snippet: sleep]
void SharedPhases::sleep(uint32_t phase) const {
  SharedHead& head = arena_.head();
  head.sleepers.value.fetch_add(1);
  const uint32_t seen = head.phase.value.load();
  if (static_cast<int32_t>(seen - phase) < 0) {
    futex_wait(head.phase.value, seen, std::min<std::chrono::nanoseconds>(kNap, deadline_));
  }
  head.sleepers.value.fetch_sub(1);
}
// [/snippet]

// One who leaves looks for those who wait after saying so, and one who waits looks for those who have left after saying so: one
// of the two sees the other.
void SharedPhases::look_after_peers(uint32_t phase, Clock::duration waited) {
  for (int r = 0; r < ranks_; ++r) {
    const Standing other = arena_.seat(r).standing();
    if (gone(other) && other.call.sequence <= call_.sequence) {
      dispute(r, message("rank {} has left{}", r, other.state == State::Failed ? " because of an exception" : ""));
    }
  }
  for (int r = 0; r < ranks_ && waited > kNap; ++r) {
    if (arena_.seat(r).dead()) {
      dispute(r, message("rank {} is dead (process {})", r, arena_.seat(r).process.load()));
    }
  }
  if (waited > deadline_) {
    const int late = missing(phase);
    dispute(late, late < 0 ? message("not done within the deadline of {} ms", deadline_.count())
                           : message("rank {} has not come within the deadline of {} ms", late, deadline_.count()));
  }
}

void SharedPhases::look_for_the_failed() {
  for (int r = 0; r < ranks_; ++r) {
    const Standing other = arena_.seat(r).standing();
    if (other.state == State::Failed) {
      dispute(r, message("rank {} has left because of an exception", r));
    }
    if (!gone(other) && arena_.seat(r).dead()) {
      dispute(r, message("rank {} is dead (process {})", r, arena_.seat(r).process.load()));
    }
  }
}

// At the phase that this rank has arrived at last: then they differ in what they call, if anything is wrong.
bool SharedPhases::all_here() const {
  const SharedHead& head = arena_.head();
  return head.arrived[phase_ % head.arrived.size()].value.load() >= static_cast<uint32_t>(ranks_);
}

int SharedPhases::missing(uint32_t phase) const {
  for (int r = 0; r < ranks_; ++r) {
    const Standing one = arena_.seat(r).standing();
    if (one.state != State::InCall || one.call.sequence < call_.sequence) {
      return r;
    }
  }
  for (int r = 0; r < ranks_; ++r) {  // in the call, but stopped on its way through it
    if (arena_.seat(r).late(phase)) {
      return r;
    }
  }
  return -1;
}

void SharedPhases::break_from(uint64_t sequence) const {
  std::atomic<uint64_t>& broken = arena_.head().broken;
  uint64_t before = broken.load();
  while (sequence < before && !broken.compare_exchange_weak(before, sequence)) {
  }
  wake_all();
}

void SharedPhases::wake_all() const { futex_wake(arena_.head().phase.value, std::numeric_limits<int>::max()); }

// Breaks the group, gives the others a moment to say where they stand, and throws what that comes to.
void SharedPhases::dispute(int peer, const std::string& complaint) {
  break_from(call_.sequence);
  arena_.seat(rank_).process.store(0);  // that this process may end now is no death to be blamed for
  std::vector<Standing> standings(static_cast<size_t>(ranks_));
  const auto limit = Clock::now() + kTimeToAnswer;
  for (bool all = false; !all && Clock::now() < limit;) {
    all = true;
    for (int r = 0; r < ranks_; ++r) {
      Standing& one = standings[static_cast<size_t>(r)];
      one = arena_.seat(r).standing();
      if (!gone(one) && arena_.seat(r).dead()) {
        one.state = State::Dead;
      } else if (one.state == State::InCall && one.call.sequence < call_.sequence && !all_here()) {
        one.state = State::Outside;  // its call is over, for this rank is past it; it has only not run since
      }
      all &= gone(one) || one.state == State::Dead || one.call.sequence >= call_.sequence;
    }
    if (!all) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  throw disagreement(rank_, peer, complaint, standings);
}

}  // namespace ringlet
