#include "collectives/algorithms/select.h"

#include <array>
#include <utility>

namespace ringlet {
namespace {

using Row = std::pair<Algorithm, std::string_view>;
constexpr std::array<Row, 6> kNames{Row{Algorithm::Auto, "auto"},
                                    Row{Algorithm::Direct, "direct"},
                                    Row{Algorithm::OneShot, "one_shot"},
                                    Row{Algorithm::RecursiveDoubling, "recursive_doubling"},
                                    Row{Algorithm::BinomialTree, "binomial_tree"},
                                    Row{Algorithm::Ring, "ring"}};

bool power_of_two(int ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)); }

bool has(Operation operation, Algorithm algorithm) {
  switch (operation) {
    case Operation::AllReduce: return true;
    case Operation::ReduceScatter:
    case Operation::AllGather: return algorithm == Algorithm::Direct || algorithm == Algorithm::Ring;
    case Operation::Reduce: return algorithm == Algorithm::Direct || algorithm == Algorithm::BinomialTree;
    case Operation::Broadcast: return algorithm == Algorithm::BinomialTree;
    default: return false;
  }
}

Algorithm best_all_reduce(const Call& call, int ranks) {
  if (call.in.bytes() > kSmallBytes) {
    return Algorithm::Direct;
  }
  const bool one_rounding = call.in.dtype == DType::BF16;  // doubling would round bf16 at every step
  return ranks >= 8 && power_of_two(ranks) && !one_rounding ? Algorithm::RecursiveDoubling : Algorithm::OneShot;
}

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

Algorithm select(const Call& call, int ranks, Algorithm asked) {
  if (asked != Algorithm::Auto) {
    check(has(call.operation, asked), "{}: has no algorithm '{}'", call.operation, asked);
    check(asked != Algorithm::RecursiveDoubling || power_of_two(ranks),
          "{}: recursive_doubling needs a power of two of ranks, got {}", call.operation, ranks);
    return asked;
  }
  switch (call.operation) {
    case Operation::AllReduce: return best_all_reduce(call, ranks);
    case Operation::Reduce: return call.in.dtype == DType::BF16 ? Algorithm::Direct : Algorithm::BinomialTree;
    case Operation::Broadcast: return Algorithm::BinomialTree;
    default: return Algorithm::Direct;
  }
}

}  // namespace ringlet
