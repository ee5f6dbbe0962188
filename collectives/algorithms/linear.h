// Linear gather and scatter: the root talks to everybody, all messages at once. As few bytes as any tree, and no rank holds what is
// another's; but the root has P−1 messages where a tree gives it log2 P.      T ≈ (P−1)·α + (P−1)·n·β      n = a part
#pragma once

#include <vector>

#include "collectives/transports/point_to_point.h"

namespace ringlet {

/// part[i] on `root` = mine of rank i; elsewhere `part` is not looked at. `mine` of the root is in place already.
template <typename Cut>
void linear_gather(PointToPoint& net, std::span<const std::byte> mine, const Cut& part, int root) {
  if (net.rank() != root) {
    return net.send(root, mine);
  }
  std::vector<Incoming> incoming;
  for (int i = 0; i < net.size(); ++i) {
    if (i != root) {
      incoming.push_back({i, part[i]});
    }
  }
  net.transfer({}, incoming);
}

/// mine of rank i = part[i] of `root`, except on the root itself.
template <typename Cut>
void linear_scatter(PointToPoint& net, const Cut& part, std::span<std::byte> mine, int root) {
  if (net.rank() != root) {
    return net.recv(root, mine);
  }
  std::vector<Outgoing> outgoing;
  for (int i = 0; i < net.size(); ++i) {
    if (i != root) {
      outgoing.push_back({i, part[i]});
    }
  }
  net.transfer(outgoing, {});
}

}  // namespace ringlet
