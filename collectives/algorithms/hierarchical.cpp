#include "collectives/algorithms/hierarchical.h"

#include <algorithm>
#include <bit>

#include "collectives/chunks.h"
#include "collectives/reduce.h"
#include "collectives/scratch.h"

namespace ringlet {
namespace {

// `sum` between hosts: what was scaled is scaled, and what is to be divided is divided at the end, once.
Reduction between_hosts(Reduction op) {
  return op.op == ReduceOp::PreMulSum || op.op == ReduceOp::Avg ? Reduction(ReduceOp::Sum) : op;
}

// in, summed over all ranks, in the part of `sums` that is this rank's.
template <Reducible T>
void reduce_shard(const Hosts& hosts, std::span<const T> in, std::span<T> shard, std::span<const int64_t> counts,
                  Reduction op) {
  const Reduction first = op.op == ReduceOp::Avg ? Reduction(ReduceOp::Sum) : op;
  hosts.inside->reduce_scatter_v(in, shard, counts, first);
  hosts.across->all_reduce(shard, between_hosts(op));
  finish_reduction(shard, op, hosts.inside->size() * hosts.across->size());
}

template <Reducible T>
void reduce_all(const Hosts& hosts, std::span<const T> in, std::span<T> out, std::span<const int64_t> counts, Reduction op) {
  const std::span<T> shard = Parts(out, counts)[hosts.inside->rank()];
  if constexpr (std::is_same_v<T, bf16>) {
    const Scratch<float> memory(Allocator::on(Device{}), in.size() + shard.size());
    const std::span<float> wide = memory.first(in.size()), sums = memory.subspan(in.size(), shard.size());
    std::transform(in.begin(), in.end(), wide.begin(), [](bf16 x) { return static_cast<float>(x); });
    reduce_shard<float>(hosts, wide, sums, counts, op);
    std::transform(sums.begin(), sums.end(), shard.begin(), [](float x) { return static_cast<bf16>(x); });
  } else {
    reduce_shard<T>(hosts, in, shard, counts, op);
  }
  hosts.inside->all_gather_v(shard, out, counts);
}

}  // namespace

int HostMap::index(int rank) const {
  const auto here = host_of.begin() + rank;
  return static_cast<int>(std::count(host_of.begin(), here, *here));
}

bool HostMap::even() const {
  const auto on = [&](int host) { return std::count(host_of.begin(), host_of.end(), host); };
  const auto first = on(host_of.front());
  return first > 1 && first < static_cast<std::ptrdiff_t>(host_of.size()) &&
         std::all_of(host_of.begin(), host_of.end(), [&](int host) { return on(host) == first; });
}

bool HostMap::keeps_order() const {
  if (!even()) {
    return false;
  }
  const auto p = static_cast<size_t>(std::count(host_of.begin(), host_of.end(), host_of.front()));
  for (size_t r = 0; r < host_of.size(); ++r) {
    if (host_of[r] != host_of[r / p * p]) {
      return false;
    }
  }
  return std::has_single_bit(p);
}

void hierarchical_all_reduce(const Hosts& hosts, ConstBuffer in, Buffer out, Reduction op) {
  const int p = hosts.inside->size();
  std::vector<int64_t> counts;
  for (int r = 0; r < p; ++r) {
    counts.push_back(out.count / p + (r < out.count % p ? 1 : 0));
  }
  dispatch_all(out.dtype, [&]<typename T>() {
    reduce_all<T>(hosts, {static_cast<const T*>(in.data), static_cast<size_t>(in.count)},
                  {static_cast<T*>(out.data), static_cast<size_t>(out.count)}, counts, op);
  });
}

}  // namespace ringlet
