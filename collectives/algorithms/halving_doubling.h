// Halving and doubling (Rabenseifner 2004): reduce_scatter by halving the vector log2 P times, each time with another peer, then
// all_gather back along the same way. Messages as few as a tree's, bytes as few as the ring's. P is folded to a power of two.
//   all_reduce       T ≈ 2·log2 P·α + 2N(P−1)/P·β + N(P−1)/P·γ        reduce_scatter: half of it
// Whom one meets first decides the order of the sum:
//   distance doubling   r ± 1, r ± 2, r ± 4, …: neighbours, then pairs, then fours. Order T where nothing is folded; the piece that a
//                       rank finishes is the one whose number is its own in reversed bits
//   distance halving    r ± P/2, …, r ± 1: the long ways with the long vectors, and rank r finishes piece r, which a reduce_scatter
//                       needs; but the first sum is x_r + x_(r+P/2): not order T
#pragma once

#include <algorithm>
#include <vector>

#include "collectives/algorithms/fold.h"
#include "collectives/chunks.h"
#include "collectives/reduce.h"
#include "collectives/transports/point_to_point.h"

namespace ringlet {

/// {1, 2, …, P/2}; or reversed.
inline std::vector<int> doubling_distances(int P) {
  std::vector<int> distances;
  for (int distance = 1; distance < P; distance *= 2) {
    distances.push_back(distance);
  }
  return distances;
}
inline std::vector<int> halving_distances(int P) {
  std::vector<int> distances = doubling_distances(P);
  std::reverse(distances.begin(), distances.end());
  return distances;
}

/// A run of chunks, and the two halves of it.
struct ChunkRange {
  int begin, end;
  int length() const { return end - begin; }
  ChunkRange half(bool upper) const {
    const int middle = (begin + end) / 2;
    return upper ? ChunkRange{middle, end} : ChunkRange{begin, middle};
  }
  /// The run of the same length next to this one, with which it makes the half that `upper` says this is into a whole.
  ChunkRange sibling(bool upper) const { return upper ? ChunkRange{begin - length(), begin} : ChunkRange{end, end + length()}; }
};

/// Halves the chunks once for every distance; returns the chunk that this rank has finished.
template <Reducible T>
int halve(PointToPoint& net, const Fold& fold, const Chunks<T>& chunk, std::span<const int> distances, Reduction op) {
  ChunkRange held{0, fold.ranks};
  for (const int distance : distances) {
    const bool upper = (fold.me & distance) != 0;
    const ChunkRange keep = held.half(upper), give = held.half(!upper);
    swap_and_combine<T>(net, fold.rank_of(fold.me ^ distance), chunk.between(give.begin, give.end),
                        chunk.between(keep.begin, keep.end), op);
    held = keep;
  }
  finish_reduction(chunk[held.begin], op, net.size());
  return held.begin;
}

/// The way back: what one has finished doubles each time.
template <Reducible T>
void double_back(PointToPoint& net, const Fold& fold, const Chunks<T>& chunk, std::span<const int> distances, int finished) {
  ChunkRange held{finished, finished + 1};
  for (size_t k = distances.size(); k-- > 0;) {
    const bool upper = (fold.me & distances[k]) != 0;
    const ChunkRange theirs = held.sibling(upper);
    const int peer = fold.rank_of(fold.me ^ distances[k]);
    net.exchange(peer, chunk.between(held.begin, held.end), peer, chunk.between(theirs.begin, theirs.end));
    held = {std::min(held.begin, theirs.begin), std::max(held.end, theirs.end)};
  }
}

/// `distances` is one of the two above, for the power of two of ranks that is not above P.
template <Reducible T>
void halving_all_reduce(PointToPoint& net, std::span<T> data, Reduction op, std::span<const int> distances) {
  const Fold fold(net.size(), net.rank());
  const Chunks<T> chunk(data, fold.ranks);
  begin_reduction(data, op);
  fold_in(net, fold, data, op);
  if (fold.stays()) {
    double_back(net, fold, chunk, distances, halve(net, fold, chunk, distances, op));
  }
  fold_out(net, fold, data);
}

/// out = chunk r of the reduction of `full`, which is left as it was; `out` may be chunk r of `full`. Only at a power of two.
template <Reducible T>
void distance_halving_reduce_scatter(PointToPoint& net, std::span<const T> full, std::span<T> out, Reduction op) {
  const Fold fold(net.size(), net.rank());
  const Scratch<T> memory = net.scratch<T>(full.size());
  const std::span<T> copy = memory.first(full.size());
  const Chunks<T> chunk(copy, fold.ranks);
  std::copy(full.begin(), full.end(), copy.begin());
  begin_reduction(copy, op);
  const std::span<T> mine = chunk[halve(net, fold, chunk, halving_distances(fold.ranks), op)];
  std::copy(mine.begin(), mine.end(), out.begin());
}

}  // namespace ringlet
