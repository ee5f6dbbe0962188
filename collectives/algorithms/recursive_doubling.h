// Recursive doubling (e.g. Thakur, Rabenseifner & Gropp 2005): in round k everybody swaps all it has with the rank whose number
// differs in bit k. P must be a power of two, or is folded to one (fold.h).
//   all_reduce   log2 P rounds of N elements: few messages, many bytes, for small N   T ≈ log2 P·(α + N·β + N·γ)
//   all_gather   what one has doubles each time: as few bytes as the ring            T ≈ log2 P·α + N(P−1)/P·β
// After round k the ranks of an aligned block of 2^(k+1) hold the sum of its two halves: order T, where nothing is folded.
#pragma once

#include "collectives/algorithms/fold.h"
#include "collectives/chunks.h"
#include "collectives/reduce.h"
#include "collectives/transports/point_to_point.h"

namespace ringlet {

// [snippet: all_reduce]
template <Reducible T>
void recursive_doubling_all_reduce(PointToPoint& net, std::span<T> data, Reduction op) {
  const Fold fold(net.size(), net.rank());
  begin_reduction(data, op);
  fold_in(net, fold, data, op);
  for (int distance = 1; fold.stays() && distance < fold.ranks; distance *= 2) {
    swap_and_combine<T>(net, fold.rank_of(fold.me ^ distance), data, data, op);
  }
  if (fold.stays()) {
    finish_reduction(data, op, net.size());
  }
  fold_out(net, fold, data);
}
// [/snippet]

/// Chunk r of `full` goes to everybody; the other chunks come in. Only at a power of two.
template <typename T>
void recursive_doubling_all_gather(PointToPoint& net, std::span<T> full) {
  const int P = net.size(), r = net.rank();
  const Chunks<T> chunk(full, P);
  for (int distance = 1; distance < P; distance *= 2) {
    const int peer = r ^ distance;
    const int mine = r & -distance, theirs = peer & -distance;  // blocks of `distance` chunks
    net.exchange(peer, chunk.between(mine, mine + distance), peer, chunk.between(theirs, theirs + distance));
  }
}

}  // namespace ringlet
