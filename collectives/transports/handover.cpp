#include "collectives/transports/handover.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "collectives/transports/patience.h"

namespace ringlet {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kThrows = 201, kOver = UINT32_MAX;  // put away: higher than any number of a throw
constexpr std::chrono::milliseconds kLimit(10), kPatience(1000);
constexpr double kAwayNs = 10'000;  // a throw that took longer waited for a core, not for a line

// The ball is thrown to rank r with an odd number, and thrown back with the next even one.
uint32_t first_throw_to(int r) { return static_cast<uint32_t>(r) * 2 * kThrows + 1; }

// 0 where no ball came back, or none as fast as a line goes.
double play(std::atomic<uint32_t>& ball, int r, Clock::time_point limit) {
  std::vector<double> times;
  auto before = Clock::now();
  for (uint32_t i = 0; i < kThrows && before < limit; ++i) {
    const uint32_t thrown = first_throw_to(r) + 2 * i;
    ball.store(thrown);
    while (ball.load() == thrown && Clock::now() < limit) {
    }
    const auto now = Clock::now();
    if (const double ns = std::chrono::duration<double, std::nano>(now - before).count(); ns < kAwayNs) {
      times.push_back(ns);
    }
    before = now;
  }
  if (times.empty()) {
    return 0;
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

void play_along(std::atomic<uint32_t>& ball, int rank, Clock::time_point limit) {
  const uint32_t first = first_throw_to(rank), end = first + 2 * kThrows;
  for (uint32_t seen = 0; seen < end - 1 && Clock::now() < limit;) {
    seen = ball.load();
    if (seen >= first && seen < end && seen % 2 == 1) {
      ball.compare_exchange_strong(seen, seen + 1);
    } else {
      Patience::look();
    }
  }
}

}  // namespace

void measure_handover(const SharedArena& arena, int rank, int ranks) {
  std::atomic<uint32_t>& ball = arena.head().ball.value;
  if (rank > 0) {
    return play_along(ball, rank, Clock::now() + kPatience);
  }
  double farthest = 0;
  const auto limit = Clock::now() + kLimit;
  for (int r = 1; r < ranks; ++r) {
    farthest = std::max(farthest, play(ball, r, limit));
  }
  ball.store(kOver);
  arena.head().handover_ns.store(farthest);
}

}  // namespace ringlet
