// How a rank waits: what it decides, in a model of two ranks without a clock, and what that costs where two share a core.
#include <sched.h>

#include <array>
#include <atomic>
#include <ctime>

#include "collectives/transports/patience.h"
#include "test/support/catch.h"
#include "test/support/run_shared.h"

using namespace ringlet;        // NOLINT(google-build-using-namespace)
using namespace ringlet::test;  // NOLINT(google-build-using-namespace)

namespace {

// Two ranks with a core each that meet again and again, in looks as the unit of time: one who comes last opens the phase, and wakes the
// other if it sleeps, which then comes to the next one `wake` later.
class TwoRanks {
 public:
  explicit TwoRanks(int64_t wake) : wake_(wake) {}

  void meet() {
    const int first = comes_[0] <= comes_[1] ? 0 : 1, last = 1 - first;
    const bool slept = falls_asleep(first, comes_[static_cast<size_t>(last)] - comes_[static_cast<size_t>(first)]);
    const int64_t opened = comes_[static_cast<size_t>(last)];
    if (slept) {
      ++sleeps_;
      patience_[static_cast<size_t>(last)].has_woken();
    }
    comes_[static_cast<size_t>(first)] = opened + (slept ? wake_ : 1);
    comes_[static_cast<size_t>(last)] = opened + 1;
  }
  void delay(int rank, int64_t looks) { comes_[static_cast<size_t>(rank)] += looks; }
  int sleeps() const { return sleeps_; }

 private:
  bool falls_asleep(int rank, int64_t waited) {
    Patience& patience = patience_[static_cast<size_t>(rank)];
    patience.begin();
    for (int64_t looks = 0; looks < waited; ++looks) {
      if (patience.next([] { return false; }) == Patience::Next::Sleep) {
        patience.end();
        return true;
      }
    }
    patience.end();
    return false;
  }

  int64_t wake_;
  std::array<int64_t, 2> comes_{};
  std::array<Patience, 2> patience_{};
  int sleeps_ = 0;
};

// Microseconds of its core that a rank takes for a meeting with another one that runs on the same core.
double core_time_of_meetings(int meetings) {
  std::atomic<int64_t> nanoseconds = 0;
  run_shared(2, [&](Communicator& world) {
    cpu_set_t one, before;
    sched_getaffinity(0, sizeof before, &before);
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
      if (CPU_ISSET(core, &before)) {
        CPU_SET(core, &one);
      }
    }
    sched_setaffinity(0, sizeof one, &one);
    const auto used = [] {
      timespec time{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      return int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
    };
    world.barrier();
    const int64_t start = used();
    for (int i = 0; i < meetings; ++i) {
      world.barrier();
    }
    nanoseconds += used() - start;
  });
  return static_cast<double>(nanoseconds) / 2e3 / meetings;
}

}  // namespace

TEST_CASE("a rank looks, then sleeps; it gives its core away only to one that is late and on it", "[patience]") {
  Patience alone;
  alone.begin();
  for (int i = 1; i < Patience::kLooks; ++i) {
    REQUIRE(alone.next([] { return false; }) == Patience::Next::Look);
  }
  CHECK(alone.next([] { return false; }) == Patience::Next::Sleep);

  Patience together;
  together.begin();
  int looks = 0;
  while (together.next([] { return true; }) == Patience::Next::Look) {
    ++looks;
  }
  CHECK(looks == Patience::kLooksPerGlance - 1);
  for (int i = 1; i < Patience::kYields; ++i) {
    REQUIRE(together.next([] { return true; }) == Patience::Next::Yield);
  }
  CHECK(together.next([] { return true; }) == Patience::Next::Sleep);
}

TEST_CASE("two ranks do not fall into step, however long a wake takes up to half a millisecond", "[patience]") {
  for (const int64_t wake : {100, 1'000, 2'000, 2'001, 5'000, 10'000, 19'999}) {
    TwoRanks ranks(wake);
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < 50; ++i) {
        ranks.meet();
      }
      ranks.delay(round % 2, 100'000);  // computes: the other one may sleep, once
    }
    CAPTURE(wake);
    CHECK(ranks.sleeps() == 19);
  }
}

TEST_CASE("a wait of known length is looked through where a wake would only add to it", "[patience]") {
  const auto looks = [](int expected) {
    Patience patience;
    patience.begin(expected);
    int n = 0;
    while (patience.next([] { return false; }) == Patience::Next::Look) {
      ++n;
    }
    return n;
  };
  CHECK(looks(5000) == looks(0) + 5000);
  CHECK(Patience::looks_to_read(size_t{1} << 20) == (1 << 20) / 100);
  CHECK(Patience::looks_to_read(size_t{1} << 40) == 50'000);
}

TEST_CASE("two ranks on one core hand it to each other instead of looking", "[patience]") {
  constexpr double kLooking = Patience::kLooks * 0.01;  // us, at 10 ns a look
  CHECK(core_time_of_meetings(2000) < kLooking / 2);
}
