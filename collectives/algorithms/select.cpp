#include "collectives/algorithms/select.h"

#include <vector>

namespace ringlet {
namespace {

double whole_bytes(const Call& call, int ranks) {
  const double own = static_cast<double>(agreed_count(call)) * static_cast<double>(size_of(call.in.dtype));
  const bool of_parts =
      call.operation == Operation::AllGather || call.operation == Operation::Gather || call.operation == Operation::Scatter;
  return of_parts ? own * ranks : own;
}

bool has(const std::vector<Algorithm>& all, Algorithm one) { return std::find(all.begin(), all.end(), one) != all.end(); }

// Among which Auto chooses; never none.
std::vector<Algorithm> candidates(const Call& call, int ranks, ReductionOrder order) {
  std::vector<Algorithm> all = algorithms_of(call.operation, ranks);
  if (order == ReductionOrder::Any && is_reduction(call.operation)) {
    const std::vector<Algorithm> everything = all;
    std::erase_if(all, [](Algorithm one) { return one != Algorithm::Ring && one != Algorithm::BinomialTree; });
    return all.empty() ? everything : all;
  }
  std::erase_if(all, [&](Algorithm one) { return !keeps_order(call.operation, one, ranks, call.in.dtype); });
  return all;
}

}  // namespace

Algorithm Algorithms::of(Operation operation, int ranks) const {
  const Algorithm asked = [&] {
    switch (operation) {
      case Operation::AllReduce: return all_reduce;
      case Operation::AllGather: return all_gather;
      case Operation::ReduceScatter: return reduce_scatter;
      case Operation::Reduce: return reduce;
      case Operation::Gather: return gather;
      case Operation::Scatter: return scatter;
      default: return Algorithm::Auto;
    }
  }();
  return asked == Algorithm::Auto && has(algorithms_of(operation, ranks), wherever) ? wherever : asked;
}

ReductionOrder Algorithms::kept(int ranks, DType dtype) const {
  const auto keeps = [&](Operation operation) {
    const Algorithm asked = of(operation, ranks);
    return asked == Algorithm::Auto ? order == ReductionOrder::Canonical : keeps_order(operation, asked, ranks, dtype);
  };
  const bool all = keeps(Operation::AllReduce) && keeps(Operation::Reduce) && keeps(Operation::ReduceScatter);
  return all ? ReductionOrder::Canonical : ReductionOrder::Any;
}

Algorithm select(const Call& call, int ranks, const Algorithms& algorithms) {
  const Algorithm asked = algorithms.of(call.operation, ranks);
  if (asked != Algorithm::Auto) {
    check(has(algorithms_of(call.operation, ranks), asked), "{}: has no algorithm '{}' on {} ranks", call.operation, asked,
          ranks);
    return asked;
  }
  const std::vector<Algorithm> possible = candidates(call, ranks, algorithms.order);
  const auto seconds = [&](Algorithm one) {
    return algorithms.model.seconds(cost_of(call.operation, one, whole_bytes(call, ranks), ranks));
  };
  return *std::min_element(possible.begin(), possible.end(), [&](Algorithm a, Algorithm b) { return seconds(a) < seconds(b); });
}

}  // namespace ringlet
