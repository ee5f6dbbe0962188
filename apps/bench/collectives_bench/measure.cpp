#include "apps/bench/collectives_bench/measure.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "apps/bench/harness/moment.h"

namespace ringlet {
namespace {

using Clock = std::chrono::steady_clock;

// Microseconds per call of one batch.
double time_batch(Communicator& world, int64_t batch, const std::function<void(int64_t)>& body) {
  wait_for_device();
  world.barrier();
  const auto start = Clock::now();
  for (int64_t i = 0; i < batch; ++i) {
    body(i);
  }
  wait_for_device();
  const auto end = Clock::now();
  std::vector<int64_t> times = {-start.time_since_epoch().count(), end.time_since_epoch().count()};
  world.all_reduce(times, ReduceOp::Max);
  return static_cast<double>(times[0] + times[1]) / 1e3 / static_cast<double>(batch);
}

}  // namespace

// In turns, so that whatever disturbs the machine disturbs them alike; in another order each time, for a contestant leaves the caches
// full of its own, and the ranks on the cores where its threads have put them. The order is the same on all ranks.
std::vector<Figures> race(Communicator& world, const Case& one, double seconds, const std::vector<Contestant>& contestants) {
  constexpr int64_t kWarmUp = 1, kAtLeast = 5;
  std::vector<Figures> figures(contestants.size());
  std::vector<size_t> order(contestants.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937 dice(1);
  const auto limit = Clock::now() + std::chrono::duration<double>(seconds * static_cast<double>(contestants.size()));
  for (int64_t repetition = 0;; ++repetition) {
    std::vector<int32_t> late = {repetition >= kAtLeast && Clock::now() > limit ? 1 : 0};
    world.all_reduce(late, ReduceOp::Max);  // all ranks stop together
    if (late[0] != 0) {
      return figures;
    }
    std::shuffle(order.begin(), order.end(), dice);
    for (const size_t k : order) {
      dirty(one, world, *contestants[k].pools, repetition);
      const double us = time_batch(world, one.batch, contestants[k].run);
      if (repetition >= kWarmUp) {
        figures[k].us.push_back(us);
      }
    }
  }
}

}  // namespace ringlet
