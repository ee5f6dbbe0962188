// Pairwise exchange (e.g. Thakur, Rabenseifner & Gropp 2005): all_to_all in P−1 steps; in step s rank r gives to r + s and takes from
// r − s, so that every rank sends one message and receives one at a time, and every pair of ranks meets once each way.
//                                                                  T ≈ (P−1)·(α + n·β)      n = a part
#pragma once

#include "collectives/transports/point_to_point.h"

namespace ringlet {

/// to[i] goes to rank i, from[i] comes from it; to[r] and from[r] are not looked at. Empty parts are messages too: each rank
/// hears from every other.
template <typename Source, typename Target>
void pairwise_all_to_all(PointToPoint& net, const Source& to, const Target& from) {
  const int P = net.size(), r = net.rank();
  for (int s = 1; s < P; ++s) {
    const int dest = (r + s) % P, source = (r + P - s) % P;
    net.exchange(dest, to[dest], source, from[source]);
  }
}

}  // namespace ringlet
