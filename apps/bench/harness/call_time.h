// How long a call takes.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace ringlet {

/// The middle of `values`, of which there must be at least one.
double median(std::vector<double> values);

/// Seconds of one call: the median of `rounds` rounds, each of so many calls that it takes `least_seconds`, and that each of `sets` has
/// its turn. They do the same on memory of their own: when the first comes again, a cache that is smaller than all of them together
/// has forgotten it. One round before warms up.
double seconds_of_call(const std::vector<std::function<void()>>& sets, int64_t rounds, double least_seconds = 2e-3);

}  // namespace ringlet
