#include "collectives/algorithms/algorithm.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "tensor/base/check.h"

namespace ringlet {
namespace {

using A = Algorithm;
using Row = std::pair<Algorithm, std::string_view>;
constexpr std::array kNames{Row{A::Auto, "auto"},
                            Row{A::Direct, "direct"},
                            Row{A::OneShot, "one_shot"},
                            Row{A::RecursiveDoubling, "recursive_doubling"},
                            Row{A::HalvingDoubling, "halving_doubling"},
                            Row{A::DistanceHalving, "distance_halving"},
                            Row{A::BinomialTree, "binomial_tree"},
                            Row{A::Ring, "ring"},
                            Row{A::Pairwise, "pairwise"},
                            Row{A::Dissemination, "dissemination"}};

bool power_of_two(int ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)); }

}  // namespace

std::string_view name_of(Algorithm algorithm) { return kNames[static_cast<size_t>(algorithm)].second; }

Algorithm algorithm_named(std::string_view name) {
  std::string known;
  for (const auto& [algorithm, its_name] : kNames) {
    if (name == its_name) {
      return algorithm;
    }
    known += (known.empty() ? "" : ", ") + std::string(its_name);
  }
  fail("algorithm: must be one of {}, got '{}'", known, name);
}

std::vector<Algorithm> algorithms_of(Operation operation, int ranks) {
  const bool folded = !power_of_two(ranks);
  switch (operation) {
    case Operation::Broadcast: return {A::BinomialTree};
    case Operation::Reduce: return {A::Direct, A::BinomialTree};
    case Operation::AllReduce:
      return {A::Direct, A::OneShot, A::RecursiveDoubling, A::HalvingDoubling, A::DistanceHalving, A::BinomialTree, A::Ring};
    case Operation::AllGather:
      return folded ? std::vector{A::Direct, A::Ring} : std::vector{A::Direct, A::Ring, A::RecursiveDoubling};
    case Operation::ReduceScatter:
      return folded ? std::vector{A::Direct, A::Ring} : std::vector{A::Direct, A::Ring, A::DistanceHalving};
    case Operation::Gather:
    case Operation::Scatter: return {A::Direct, A::BinomialTree};
    case Operation::AllGatherV:
    case Operation::ReduceScatterV:
    case Operation::GatherV:
    case Operation::ScatterV: return {A::Direct};
    case Operation::AllToAll:
    case Operation::AllToAllV: return {A::Pairwise};
    default: return {A::Dissemination};
  }
}

bool keeps_order(Operation operation, Algorithm algorithm, int ranks, DType dtype) {
  if (!is_reduction(operation)) {
    return true;
  }
  switch (algorithm) {
    case A::Direct:
    case A::OneShot: return true;
    case A::BinomialTree: return dtype != DType::BF16;
    case A::RecursiveDoubling:
    case A::HalvingDoubling: return dtype != DType::BF16 && power_of_two(ranks);
    default: return dtype != DType::BF16 && ranks <= 2;  // two inputs have one order
  }
}

std::string_view name_of(ReductionOrder order) { return order == ReductionOrder::Any ? "any" : "canonical"; }

ReductionOrder reduction_order_named(std::string_view name) {
  check(name == "canonical" || name == "any", "reduction order: must be one of canonical, any, got '{}'", name);
  return name == "any" ? ReductionOrder::Any : ReductionOrder::Canonical;
}

}  // namespace ringlet
