// Hierarchical all_reduce: reduce_scatter inside the host, all_reduce between hosts on the shards, all_gather inside the host. With p
// ranks on each of H hosts every byte of the vector crosses the network as if a host were one rank, in p messages side by side:
//                                                T ≈ T_host(reduce_scatter, all_gather) + 2α + 2N/p·(H−1)/H·β      per rank
// (The two-level form of e.g. Jia et al. 2018 and of Horovod's hierarchical all_reduce.) Where every host has 2^k ranks that are
// neighbours, the sum inside is a block of order T and the sum of blocks is order T again: the same bits as without hosts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collectives/communicator.h"

namespace ringlet {

/// Which host each rank is on, by any number per host.
struct HostMap {
  std::vector<int> host_of{};

  /// More than one host, more than one rank on each, and as many on every one.
  bool even() const;
  /// Besides, each has a power of two of ranks, which are neighbours: then the order is T.
  bool keeps_order() const;
  /// The number of `rank` among those of its host.
  int index(int rank) const;
};

/// One rank's two groups: the ranks of its host in rank order, and those of the same index on every host.
struct Hosts {
  std::unique_ptr<Communicator> inside{};
  std::unique_ptr<Communicator> across{};
};

/// `in` and `out` are the same memory or apart. bf16 travels as fp32, so that it is rounded once.
void hierarchical_all_reduce(const Hosts& hosts, ConstBuffer in, Buffer out, Reduction op);

}  // namespace ringlet
