// Collectives in two levels, inside the hosts and between them. With p ranks on each of H hosts every byte crosses the network as if a
// host were one rank, in p messages side by side; flat, as every rank hears from every other, it would cross p times as often.
//   all_reduce      reduce_scatter inside, all_reduce of the shards between, all_gather inside    T ≈ T_host + 2α + 2N/p·(H−1)/H·β
//   reduce_scatter  of each host's part inside, then between                                      T ≈ T_host + α + N/p·(H−1)/H·β
//   all_gather      of each shard between, then of each host's part inside                        T ≈ T_host + α + N/p·(H−1)/H·β
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
  /// Even, and the ranks of each are neighbours: then what belongs to a host is one piece of the whole.
  bool in_blocks() const;
  /// Besides, each has a power of two of ranks: then the order is T.
  bool keeps_order() const;
  /// The number of `rank` among those of its host.
  int index(int rank) const;
};

/// One rank's two groups: the ranks of its host in rank order, and those of the same index on every host.
struct Hosts {
  std::unique_ptr<Communicator> inside{};
  std::unique_ptr<Communicator> across{};
  bool in_blocks = false;                                       // of the map
  std::shared_ptr<Allocator> memory = Allocator::on(Device{});  // of the rank's thread, whichever thread calls
};

/// `in` and `out` are the same memory or apart. bf16 travels as fp32, so that it is rounded once.
void hierarchical_all_reduce(const Hosts& hosts, ConstBuffer in, Buffer out, Reduction op);
/// In blocks only, as is all_gather. Scratch: H shards; of bf16 the whole and H shards in fp32.
void hierarchical_reduce_scatter(const Hosts& hosts, ConstBuffer in, Buffer out, Reduction op);
/// Scratch: H shards.
void hierarchical_all_gather(const Hosts& hosts, ConstBuffer in, Buffer out);

/// Communicator::scratch_bytes of these.
int64_t hierarchical_scratch_bytes(const Hosts& hosts, const Call& call);

}  // namespace ringlet
