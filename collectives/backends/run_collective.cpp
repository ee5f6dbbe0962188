#include "collectives/backends/run_collective.h"

#include <algorithm>
#include <cstring>

#include "collectives/algorithms/binomial_tree.h"
#include "collectives/algorithms/direct.h"
#include "collectives/algorithms/dissemination.h"
#include "collectives/algorithms/halving_doubling.h"
#include "collectives/algorithms/linear.h"
#include "collectives/algorithms/pairwise.h"
#include "collectives/algorithms/recursive_doubling.h"
#include "collectives/algorithms/ring.h"

namespace ringlet {
namespace {

template <typename T>
std::span<const T> elements(const ConstBuffer& buffer) {
  return {static_cast<const T*>(buffer.data), static_cast<size_t>(buffer.count)};
}
template <typename T>
std::span<T> elements(const Buffer& buffer) {
  return {static_cast<T*>(buffer.data), static_cast<size_t>(buffer.count)};
}
std::span<const std::byte> bytes_of(const ConstBuffer& buffer) { return {buffer.begin(), buffer.bytes()}; }
std::span<std::byte> bytes_of(const Buffer& buffer) { return {buffer.begin(), buffer.bytes()}; }

void copy_unless_same(std::span<const std::byte> from, std::span<std::byte> to) {
  if (!from.empty() && from.data() != to.data()) {
    std::memcpy(to.data(), from.data(), from.size());
  }
}

template <Reducible T>
void run_all_reduce(PointToPoint& net, const Call& call, Algorithm algorithm) {
  const std::span<const T> in = elements<T>(call.in);
  const std::span<T> out = elements<T>(call.out);
  const int folded = Fold(net.size(), net.rank()).ranks;
  switch (algorithm) {
    case Algorithm::Direct: return direct_all_reduce<T>(net, in, out, call.op);
    case Algorithm::OneShot: return one_shot_all_reduce<T>(net, in, out, call.op);
    case Algorithm::BinomialTree:
      binomial_tree_reduce<T>(net, in, out, call.op, 0);
      return binomial_tree_broadcast(net, out, 0);
    default: break;  // the others work in place
  }
  copy_unless_same(bytes_of(call.in), bytes_of(call.out));
  switch (algorithm) {
    case Algorithm::RecursiveDoubling: return recursive_doubling_all_reduce(net, out, call.op);
    case Algorithm::HalvingDoubling: return halving_all_reduce(net, out, call.op, doubling_distances(folded));
    case Algorithm::DistanceHalving: return halving_all_reduce(net, out, call.op, halving_distances(folded));
    default: return ring_all_reduce(net, out, call.op);
  }
}

template <Reducible T>
void run_reduce_scatter(PointToPoint& net, const Call& call, Algorithm algorithm) {
  const std::span<const T> in = elements<T>(call.in);
  const std::span<T> out = elements<T>(call.out);
  switch (algorithm) {
    case Algorithm::Ring: return ring_reduce_scatter(net, in, out, call.op);
    case Algorithm::DistanceHalving: return distance_halving_reduce_scatter(net, in, out, call.op);
    default: return direct_reduce_scatter(net, in, out, call.op);
  }
}

template <Reducible T>
void run_reduce_scatter_v(PointToPoint& net, const Call& call) {
  const Parts<const T> part(elements<T>(call.in), call.counts);
  reduce_pieces(
      net, [&](int i) { return part[i]; }, part.max_size(), elements<T>(call.out), call.op);
}

template <Reducible T>
void run_reduce(PointToPoint& net, const Call& call, Algorithm algorithm) {
  const auto implementation = algorithm == Algorithm::BinomialTree ? binomial_tree_reduce<T> : direct_reduce<T>;
  implementation(net, elements<T>(call.in), elements<T>(call.out), call.op, call.peer);
}

template <typename F>
void with_type(const Call& call, F&& body) {
  dispatch_all(call.in.dtype, body);
}

// Calls body(part), where part[i] are the bytes of rank i in `whole`.
template <typename Byte, typename F>
void with_parts(const Call& call, std::span<Byte> whole, int ranks, F&& body) {
  if (has_counts(call.operation)) {
    return body(Parts<Byte>(whole, call.counts, size_of(call.in.dtype)));
  }
  body(Chunks<Byte>(whole, ranks));  // chunks of bytes are the shards, because the whole is P shards exactly
}

void run_all_gather(PointToPoint& net, const Call& call, Algorithm algorithm) {
  with_parts(call, bytes_of(call.out), net.size(), [&](const auto& part) {
    copy_unless_same(bytes_of(call.in), part[net.rank()]);
    switch (algorithm) {
      case Algorithm::Ring: return ring_all_gather(net, bytes_of(call.out));
      case Algorithm::RecursiveDoubling: return recursive_doubling_all_gather(net, bytes_of(call.out));
      default: return gather_chunks(net, part);
    }
  });
}

void run_gather(PointToPoint& net, const Call& call, Algorithm algorithm) {
  if (algorithm == Algorithm::BinomialTree) {
    return binomial_tree_gather(net, bytes_of(call.in), bytes_of(call.out), call.peer);
  }
  with_parts(call, bytes_of(call.out), net.size(), [&](const auto& part) {
    if (net.rank() == call.peer) {
      copy_unless_same(bytes_of(call.in), part[call.peer]);
    }
    linear_gather(net, bytes_of(call.in), part, call.peer);
  });
}

void run_scatter(PointToPoint& net, const Call& call, Algorithm algorithm) {
  if (algorithm == Algorithm::BinomialTree) {
    return binomial_tree_scatter(net, bytes_of(call.in), bytes_of(call.out), call.peer);
  }
  with_parts(call, bytes_of(call.in), net.size(), [&](const auto& part) {
    if (net.rank() == call.peer) {
      copy_unless_same(part[call.peer], bytes_of(call.out));
    }
    linear_scatter(net, part, bytes_of(call.out), call.peer);
  });
}

void run_all_to_all(PointToPoint& net, const Call& call) {
  const int P = net.size(), r = net.rank();
  const auto exchange = [&](const auto& to, const auto& from) {
    copy_unless_same(to[r], from[r]);
    pairwise_all_to_all(net, to, from);
  };
  const std::span<const std::byte> in = bytes_of(call.in);
  const std::span<std::byte> out = bytes_of(call.out);
  if (call.operation == Operation::AllToAllV) {  // each rank knows its own row and column; all find the same mistake
    std::vector<int64_t> table(static_cast<size_t>(2 * P * P));
    const auto own = table.begin() + 2 * P * r;
    std::copy(call.source_counts.begin(), call.source_counts.end(), std::copy(call.counts.begin(), call.counts.end(), own));
    direct_all_gather(net, std::span<int64_t>(table));
    require_matching_parts(table, r, P);
    const size_t unit = size_of(call.in.dtype);
    return exchange(Parts(in, call.counts, unit), Parts(out, call.source_counts, unit));
  }
  if (in.data() != out.data()) {
    return exchange(Chunks(in, P), Chunks(out, P));
  }
  const Scratch<std::byte> copy = net.scratch<std::byte>(in.size());  // what comes in must not overwrite what is still to go
  copy_unless_same(in, copy.first(in.size()));
  exchange(Chunks(copy.first(in.size()), P), Chunks(out, P));
}

// Whether nobody hears from everybody, or not everybody does: the data of a rooted operation reach only some, and a rank with
// an empty part may get none.
bool needs_barrier(const Call& call) {
  return is_rooted(call.operation) ||
         std::any_of(call.counts.begin(), call.counts.end(), [&](int64_t n) { return n == 0 && has_counts(call.operation); });
}

}  // namespace

void run_collective(PointToPoint& net, const Call& call, const Algorithms& algorithms) {
  if (needs_barrier(call)) {  // then nobody returns before all agree
    dissemination_barrier(net);
  }
  const Algorithm algorithm = select(call, net.size(), algorithms);
  switch (call.operation) {
    case Operation::Broadcast: return binomial_tree_broadcast(net, bytes_of(call.out), call.peer);
    case Operation::Reduce: return with_type(call, [&]<typename T>() { run_reduce<T>(net, call, algorithm); });
    case Operation::AllReduce: return with_type(call, [&]<typename T>() { run_all_reduce<T>(net, call, algorithm); });
    case Operation::ReduceScatter: return with_type(call, [&]<typename T>() { run_reduce_scatter<T>(net, call, algorithm); });
    case Operation::ReduceScatterV: return with_type(call, [&]<typename T>() { run_reduce_scatter_v<T>(net, call); });
    case Operation::AllGather:
    case Operation::AllGatherV: return run_all_gather(net, call, algorithm);
    case Operation::Gather:
    case Operation::GatherV: return run_gather(net, call, algorithm);
    case Operation::Scatter:
    case Operation::ScatterV: return run_scatter(net, call, algorithm);
    case Operation::AllToAll:
    case Operation::AllToAllV: return run_all_to_all(net, call);
    default: return dissemination_barrier(net);
  }
}

}  // namespace ringlet
