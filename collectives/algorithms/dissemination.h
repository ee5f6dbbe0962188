// Dissemination barrier (Hensgen, Finkel & Manber, "Two algorithms for barrier synchronization", 1988). In round k rank r tells
// r + 2^k and hears from r − 2^k; after ⌈log2 P⌉ rounds everybody has heard, through others, from everybody.   T ≈ ⌈log2 P⌉·α
#pragma once

#include "collectives/transports/point_to_point.h"

namespace ringlet {

// [snippet: barrier]
inline void dissemination_barrier(PointToPoint& net) {
  const int P = net.size(), r = net.rank();
  for (int distance = 1; distance < P; distance *= 2) {
    net.exchange((r + distance) % P, {}, (r + P - distance) % P, std::span<std::byte>());
  }
}
// [/snippet]

}  // namespace ringlet
