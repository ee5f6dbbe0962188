#include "apps/bench/harness/call_time.h"

#include <algorithm>

#include "apps/bench/harness/moment.h"

namespace ringlet {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double seconds_of_call(const std::vector<std::function<void()>>& sets, int64_t rounds, double least_seconds) {
  const auto turns = static_cast<int64_t>(sets.size());
  const auto seconds_of = [&](int64_t calls) {
    const Moment start;
    for (int64_t i = 0; i < calls; ++i) {
      sets[static_cast<size_t>(i % turns)]();
    }
    const Moment end;
    return end.seconds_since(start);
  };
  seconds_of(turns);
  int64_t calls = turns;
  while (seconds_of(calls) < least_seconds) {
    calls *= 2;
  }
  std::vector<double> found;
  for (int64_t round = 0; round < rounds; ++round) {
    found.push_back(seconds_of(calls) / static_cast<double>(calls));
  }
  return median(found);
}

}  // namespace ringlet
