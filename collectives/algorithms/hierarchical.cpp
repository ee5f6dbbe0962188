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
    const Scratch<float> memory(hosts.memory, in.size() + shard.size());
    const std::span<float> wide = memory.first(in.size()), sums = memory.subspan(in.size(), shard.size());
    std::transform(in.begin(), in.end(), wide.begin(), [](bf16 x) { return static_cast<float>(x); });
    reduce_shard<float>(hosts, wide, sums, counts, op);
    std::transform(sums.begin(), sums.end(), shard.begin(), [](float x) { return static_cast<bf16>(x); });
  } else {
    reduce_shard<T>(hosts, in, shard, counts, op);
  }
  hosts.inside->all_gather_v(shard, out, counts);
}

// The sum over all ranks of this rank's shard of `in`, to be finished. `parts` is room for H shards.
template <Reducible T>
void reduce_to_owners(const Hosts& hosts, std::span<const T> in, std::span<T> parts, std::span<T> shard, Reduction op) {
  const Reduction first = op.op == ReduceOp::Avg ? Reduction(ReduceOp::Sum) : op;
  const Chunks<const T> of_host(in, hosts.across->size());
  const Chunks<T> part(parts, hosts.across->size());
  for (int host = 0; host < hosts.across->size(); ++host) {
    hosts.inside->reduce_scatter(of_host[host], part[host], first);
  }
  hosts.across->reduce_scatter(std::span<const T>(parts), shard, between_hosts(op));
  finish_reduction(shard, op, hosts.inside->size() * hosts.across->size());
}

template <Reducible T>
void scatter_sums(const Hosts& hosts, std::span<const T> in, std::span<T> out, Reduction op) {
  const size_t parts = out.size() * static_cast<size_t>(hosts.across->size());
  if constexpr (std::is_same_v<T, bf16>) {
    const Scratch<float> memory(hosts.memory, in.size() + parts + out.size());
    const std::span<float> wide = memory.first(in.size()), sums = memory.subspan(in.size() + parts, out.size());
    std::transform(in.begin(), in.end(), wide.begin(), [](bf16 x) { return static_cast<float>(x); });
    reduce_to_owners<float>(hosts, wide, memory.subspan(in.size(), parts), sums, op);
    std::transform(sums.begin(), sums.end(), out.begin(), [](float x) { return static_cast<bf16>(x); });
  } else {
    const Scratch<T> memory(hosts.memory, parts);
    reduce_to_owners<T>(hosts, in, memory.first(parts), out, op);
  }
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

bool HostMap::in_blocks() const {
  if (!even()) {
    return false;
  }
  const auto p = static_cast<size_t>(std::count(host_of.begin(), host_of.end(), host_of.front()));
  for (size_t r = 0; r < host_of.size(); ++r) {
    if (host_of[r] != host_of[r / p * p]) {
      return false;
    }
  }
  return true;
}

bool HostMap::keeps_order() const {
  return in_blocks() && std::has_single_bit(static_cast<size_t>(std::count(host_of.begin(), host_of.end(), host_of.front())));
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

void hierarchical_reduce_scatter(const Hosts& hosts, ConstBuffer in, Buffer out, Reduction op) {
  dispatch_all(out.dtype, [&]<typename T>() {
    scatter_sums<T>(hosts, {static_cast<const T*>(in.data), static_cast<size_t>(in.count)},
                    {static_cast<T*>(out.data), static_cast<size_t>(out.count)}, op);
  });
}

void hierarchical_all_gather(const Hosts& hosts, ConstBuffer in, Buffer out) {
  const auto H = static_cast<size_t>(hosts.across->size());
  const Scratch<std::byte> memory(hosts.memory, H * in.bytes());
  const std::span<std::byte> shards = memory.first(H * in.bytes()), whole(out.begin(), out.bytes());
  const auto as_u8 = [](auto bytes) { return std::span(reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()); };
  hosts.across->all_gather(std::span(reinterpret_cast<const uint8_t*>(in.begin()), in.bytes()), as_u8(shards));
  const Chunks<std::byte> shard(shards, hosts.across->size()), of_host(whole, hosts.across->size());
  for (int host = 0; host < hosts.across->size(); ++host) {
    hosts.inside->all_gather(std::span<const uint8_t>(as_u8(shard[host])), as_u8(of_host[host]));
  }
}

int64_t hierarchical_scratch_bytes(const Hosts& hosts, const Call& call) {
  const int64_t p = hosts.inside->size(), H = hosts.across->size(), N = std::max(call.in.count, call.out.count);
  const bool wide = call.in.dtype == DType::BF16 && is_reduction(call.operation);
  const DType dtype = wide ? DType::F32 : call.in.dtype;
  const auto unit = static_cast<int64_t>(size_of(dtype));
  const auto of = [&](const Communicator& group, Operation operation, int64_t elements) {
    return group.scratch_bytes(formula_call(operation, elements, dtype, group.size()));
  };
  switch (call.operation) {
    case Operation::AllReduce: {
      const int64_t shard = N / p + (hosts.inside->rank() < N % p ? 1 : 0);
      const int64_t inboxes =
          std::max(of(*hosts.inside, Operation::ReduceScatterV, N), of(*hosts.across, Operation::AllReduce, shard));
      return inboxes + (wide ? (N + shard) * unit : 0);
    }
    case Operation::ReduceScatter: {
      const int64_t parts = N / p;
      const int64_t inboxes =
          std::max(of(*hosts.inside, Operation::ReduceScatter, N / H), of(*hosts.across, Operation::ReduceScatter, parts));
      return inboxes + (parts + (wide ? N + parts / H : 0)) * unit;
    }
    default: return N / p * unit;
  }
}

}  // namespace ringlet
