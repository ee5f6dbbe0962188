// Which algorithm for which size: the only home of thresholds.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "collectives/call.h"

namespace ringlet {

enum class Algorithm : uint8_t { Auto, Direct, OneShot, RecursiveDoubling, BinomialTree, Ring };

/// "auto", "direct", "one_shot", "recursive_doubling", "binomial_tree", "ring".
std::string_view name_of(Algorithm algorithm);
inline std::string to_text(Algorithm algorithm) { return std::string(name_of(algorithm)); }
/// An `Error` that lists the names, for another one.
Algorithm algorithm_named(std::string_view name);

/// Which algorithm each operation takes. Auto keeps order T; others may not (their headers say).
struct Algorithms {
  Algorithm all_reduce = Algorithm::Auto;
  Algorithm all_gather = Algorithm::Auto;
  Algorithm reduce_scatter = Algorithm::Auto;
  Algorithm reduce = Algorithm::Auto;
};

/// The algorithm for `call` among P ranks. `asked` is taken where the operation has it, and where it does not is an `Error`
/// (Auto never is). Auto chooses only among those that sum in order T, and depends on nothing in which ranks could differ.
Algorithm select(const Call& call, int ranks, Algorithm asked = Algorithm::Auto);

/// An all_reduce of at most this many bytes goes in one step, or in log2 P at a power of two from 8 ranks.
inline constexpr size_t kSmallBytes = 2048;

/// What a rank keeps for messages that wait to be summed, at most: large enough that a step costs more than its latency, small
/// enough to stay in the second cache.
inline constexpr size_t kInboxBytes = size_t{1} << 20;

/// Elements in each of the P−1 inboxes.
template <typename T>
size_t inbox_elements(int ranks) {
  return std::max<size_t>(kInboxBytes / sizeof(T) / static_cast<size_t>(std::max(ranks - 1, 1)), 256);
}

}  // namespace ringlet
