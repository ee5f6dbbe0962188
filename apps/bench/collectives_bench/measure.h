// Contestants that take turns at one operation, each timed from the first rank's start to the last rank's end.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "apps/bench/collectives_bench/case.h"
#include "collectives/communicator.h"

namespace ringlet {

struct Figures {
  std::vector<double> us;  // per call, one of each batch
  double median() const { return at(0.5); }
  double p99() const { return at(0.99); }

 private:
  double at(double q) const {
    std::vector<double> sorted = us;
    std::sort(sorted.begin(), sorted.end());
    return sorted[std::min(sorted.size() - 1, static_cast<size_t>(q * static_cast<double>(sorted.size())))];
  }
};

struct Contestant {
  const Pools* pools;                  // what it works on
  std::function<void(int64_t)> run{};  // the i-th call of the batch
};

/// In turns, in an order that changes. `seconds` is for each of them. `world` meets before and after every batch; all ranks are on
/// one host and share its clock.
std::vector<Figures> race(Communicator& world, const Case& one, double seconds, const std::vector<Contestant>& contestants);

}  // namespace ringlet
