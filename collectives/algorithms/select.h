// Which algorithm for which call: by name, or the cheapest by the cost model. The only home of thresholds.
#pragma once

#include <algorithm>
#include <cstddef>

#include "collectives/algorithms/cost_model.h"
#include "collectives/call.h"

namespace ringlet {

/// Which algorithm each operation takes. Auto keeps order T unless `order` is Any; others may not (keeps_order).
struct Algorithms {
  Algorithm all_reduce = Algorithm::Auto;
  Algorithm all_gather = Algorithm::Auto;
  Algorithm reduce_scatter = Algorithm::Auto;
  Algorithm reduce = Algorithm::Auto;
  Algorithm gather = Algorithm::Auto;
  Algorithm scatter = Algorithm::Auto;
  Algorithm wherever = Algorithm::Auto;  // for the operations that have it on so many ranks, and are Auto above
  ReductionOrder order = ReductionOrder::Canonical;
  CostModel model{};

  /// What is asked of `operation` on `ranks` ranks.
  Algorithm of(Operation operation, int ranks) const;
  /// Canonical when every reduction of `dtype` on `ranks` ranks is in order T.
  ReductionOrder kept(int ranks, DType dtype = DType::F32) const;
  friend bool operator==(const Algorithms&, const Algorithms&) = default;
};

/// The algorithm for `call` among P ranks: the one asked for, which is an `Error` where the operation does not have it, or the
/// cheapest. Auto depends on nothing in which ranks could differ. Among which it chooses:
///   canonical   those that sum in order T. So size, transport and costs never change a bit
///   any         ring and binomial tree, by size as NCCL does, where an operation has both
Algorithm select(const Call& call, int ranks, const Algorithms& algorithms = {});

/// From here on an all_reduce over several hosts is hierarchical: below, its three steps and their agreement take longer.
inline constexpr size_t kHierarchicalBytes = size_t{16} << 10;
/// The same of reduce_scatter and all_gather, in bytes of the whole: flat, they have fewer steps to lose than an all_reduce has.
inline constexpr size_t kHierarchicalHalfBytes = size_t{128} << 10;

/// What a rank keeps for messages that wait to be summed, at most: large enough that a step costs more than its latency, small
/// enough to stay in the second cache.
inline constexpr size_t kInboxBytes = size_t{1} << 20;

/// Elements in each of the P−1 inboxes.
constexpr size_t inbox_elements(size_t element_size, int ranks) {
  return std::max<size_t>(kInboxBytes / element_size / static_cast<size_t>(std::max(ranks - 1, 1)), 256);
}

}  // namespace ringlet
