// Recursive doubling (e.g. Thakur, Rabenseifner & Gropp 2005): in round k everybody swaps everything with the rank whose number
// differs in bit k, and both add. log2 P rounds of N elements: few messages, many bytes, for small N.  T ≈ log2 P·(α + N·β)
// After round k the ranks of an aligned block of 2^(k+1) hold the sum of its two halves: order T. P must be a power of two.
#pragma once

#include "collectives/reduce.h"
#include "collectives/transports/point_to_point.h"

namespace ringlet {

template <Reducible T>
void recursive_doubling_all_reduce(PointToPoint& net, std::span<T> data, Reduction op) {
  const int P = net.size(), r = net.rank();
  const Scratch<T> inbox = net.scratch<T>(data.size());
  const std::span<T> theirs = inbox.first(data.size());
  begin_reduction(data, op);
  for (int distance = 1; distance < P; distance *= 2) {
    const int peer = r ^ distance;
    net.exchange(peer, data, peer, theirs);
    if (r < peer) {
      combine<T>(data, theirs, data, op);  // the lower ranks stand left on both sides, so both get the same bits
    } else {
      combine<T>(theirs, data, data, op);
    }
  }
  finish_reduction(data, op, P);
}

}  // namespace ringlet
