// The algorithms by name, and which operation takes which.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/call.h"

namespace ringlet {

/// Direct is linear.h for gather and scatter. HalvingDoubling meets neighbours first, DistanceHalving ends with them.
enum class Algorithm : uint8_t {
  Auto,
  Direct,
  OneShot,
  RecursiveDoubling,
  HalvingDoubling,
  DistanceHalving,
  BinomialTree,
  Ring,
  Pairwise,
  Dissemination
};

/// "auto", "direct", "one_shot", "recursive_doubling", "halving_doubling", "distance_halving", "binomial_tree", "ring",
/// "pairwise", "dissemination".
std::string_view name_of(Algorithm algorithm);
inline std::string to_text(Algorithm algorithm) { return std::string(name_of(algorithm)); }
/// An `Error` that lists the names, for another one.
Algorithm algorithm_named(std::string_view name);

/// Those that carry out `operation` on `ranks` ranks.
std::vector<Algorithm> algorithms_of(Operation operation, int ranks);
/// Whether the algorithm sums in order T: where it does, it may be taken without anybody seeing a difference. bf16 is rounded
/// once only where the owner of a piece sums all of its inputs.
bool keeps_order(Operation operation, Algorithm algorithm, int ranks, DType dtype);

/// How float sums over ranks are ordered: T whatever the size, number of ranks and transport; or any, which is free to be fast.
enum class ReductionOrder : uint8_t { Canonical, Any };
std::string_view name_of(ReductionOrder order);  // "canonical", "any"
inline std::string to_text(ReductionOrder order) { return std::string(name_of(order)); }
ReductionOrder reduction_order_named(std::string_view name);

}  // namespace ringlet
