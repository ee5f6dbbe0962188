// What one rank sends, exactly: the loops of the algorithms, counted.
#include <algorithm>
#include <bit>

#include "collectives/algorithms/cost_model.h"
#include "collectives/algorithms/fold.h"
#include "collectives/algorithms/halving_doubling.h"
#include "collectives/algorithms/select.h"

namespace ringlet {
namespace {

using A = Algorithm;

int64_t rounds_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Sizes of N elements in P chunks (chunks.h), and what of them goes out.
struct Sent {
  explicit Sent(const Payload& payload, int rank)
      : N(payload.elements), size(payload.size), P(payload.ranks), root(payload.root), r(rank), fold(P, rank) {}

  int64_t offset(int64_t i, int64_t parts) const { return i * (N / parts) + std::min(i, N % parts); }
  int64_t chunk(int i) const {
    const int64_t index = (i % P + P) % P;
    return offset(index + 1, P) - offset(index, P);
  }
  int64_t segments(int64_t elements, int64_t longest, int peers) const {
    const auto segment = static_cast<int64_t>(inbox_elements(static_cast<size_t>(size), peers));
    return rounds_up(elements, std::min(longest, segment));
  }
  int64_t swaps(int64_t elements) const { return elements == 0 ? 0 : segments(elements, elements, 2); }
  Traffic of(int64_t messages, int64_t elements) const { return {messages, elements * size}; }

  Traffic direct_reduce_scatter() const {
    Traffic total;
    for (int i = 0; i < P; ++i) {
      total.messages += i == r ? 0 : segments(chunk(i), chunk(0), P);
    }
    total.bytes = (N - chunk(r)) * size;
    return total;
  }
  Traffic direct_all_gather() const { return of(chunk(r) > 0 ? P - 1 : 0, (P - 1) * chunk(r)); }
  Traffic one_shot() const { return of((P - 1) * segments(N, N, P), (P - 1) * N); }
  Traffic ring(int but) const { return of(P - 1, P == 1 ? 0 : N - chunk(but)); }
  Traffic recursive_doubling_all_gather() const {
    Traffic total;
    for (int distance = 1; distance < P; distance *= 2) {
      const int mine = r & -distance;
      total.messages += 1;
      total.bytes += (offset(mine + distance, P) - offset(mine, P)) * size;
    }
    return total;
  }
  // Who sits out sends all it has; its partner sends the result once more.
  Traffic folded(const Traffic& steps) const {
    const int64_t messages = fold.stays() ? steps.messages + (fold.paired(r) ? 1 : 0) : swaps(N);
    return {messages, fold.stays() ? steps.bytes + (fold.paired(r) ? N * size : 0) : N * size};
  }
  Traffic recursive_doubling() const {
    const int64_t rounds = std::countr_zero(static_cast<unsigned>(fold.ranks));
    return folded(of(rounds * swaps(N), rounds * N));
  }
  // What is given away on the way down; on the way up, what is held.
  Traffic halving(const std::vector<int>& distances, bool back) const {
    if (!fold.stays()) {
      return folded({});
    }
    const auto elements = [&](const ChunkRange& range) {
      return offset(range.end, fold.ranks) - offset(range.begin, fold.ranks);
    };
    ChunkRange held{0, fold.ranks};
    Traffic total;
    for (const int distance : distances) {
      const bool upper = (fold.me & distance) != 0;
      total.messages += swaps(elements(held.half(!upper))) + (back ? 1 : 0);
      total.bytes += (elements(held.half(!upper)) + (back ? elements(held.half(upper)) : 0)) * size;
      held = held.half(upper);
    }
    return folded(total);
  }
  int number() const { return (r - root + P) % P; }
  int lowest() const {
    return number() == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(P))) : number() & -number();
  }
  int64_t children() const {
    int64_t count = 0;
    for (int distance = lowest() / 2; distance > 0; distance /= 2) {
      count += number() + distance < P ? 1 : 0;
    }
    return count;
  }
  int64_t held() const { return std::min(lowest(), P - number()); }

  int64_t N, size;
  int P, root, r;
  Fold fold;
};

Traffic operator+(const Traffic& a, const Traffic& b) { return {a.messages + b.messages, a.bytes + b.bytes}; }

// A reduction on the tree runs towards rank 0, which passes the result on.
Traffic tree_reduce(const Sent& sent) {
  const int64_t messages = sent.segments(sent.N, sent.N, 2);
  const bool sends = sent.r != 0 || sent.root != 0;
  return sends && sent.P > 1 ? sent.of(messages, sent.N) : Traffic{};
}
Traffic tree_broadcast(const Sent& sent) { return sent.of(sent.children(), sent.children() * sent.N); }

Traffic all_reduce_traffic(Algorithm algorithm, Sent sent) {
  switch (algorithm) {
    case A::OneShot: return sent.one_shot();
    case A::RecursiveDoubling: return sent.recursive_doubling();
    case A::HalvingDoubling: return sent.halving(doubling_distances(sent.fold.ranks), true);
    case A::DistanceHalving: return sent.halving(halving_distances(sent.fold.ranks), true);
    case A::BinomialTree: sent.root = 0; return tree_reduce(sent) + tree_broadcast(sent);
    case A::Ring: return sent.ring(sent.r + 1) + sent.ring(sent.r + 2);
    default: return sent.direct_reduce_scatter() + sent.direct_all_gather();
  }
}

Traffic rooted_traffic(Operation operation, Algorithm algorithm, const Sent& sent) {
  const bool is_root = sent.r == sent.root;
  const int64_t part = sent.N / sent.P;
  switch (operation) {
    case Operation::Broadcast: return tree_broadcast(sent);
    case Operation::Reduce:
      if (algorithm == A::BinomialTree) {
        return tree_reduce(sent);
      }
      return is_root ? Traffic{} : sent.of(sent.segments(sent.N, sent.N, sent.P), sent.N);
    case Operation::Gather: return is_root ? Traffic{} : sent.of(1, algorithm == A::BinomialTree ? sent.held() * part : part);
    default:  // scatter
      if (algorithm == A::BinomialTree) {
        return sent.of(sent.children(), (sent.held() - 1) * part);
      }
      return is_root ? sent.of(sent.P - 1, (sent.P - 1) * part) : Traffic{};
  }
}

}  // namespace

Traffic traffic_of(Operation operation, Algorithm algorithm, const Payload& payload, int rank) {
  const Sent sent(payload, rank);
  const int64_t rounds = std::bit_width(static_cast<unsigned>(payload.ranks - 1));
  if (payload.ranks == 1) {
    return {};
  }
  if (is_rooted(operation)) {  // begins with a barrier
    return Traffic{rounds, 0} + rooted_traffic(operation, algorithm, sent);
  }
  switch (operation) {
    case Operation::AllReduce: return all_reduce_traffic(algorithm, sent);
    case Operation::ReduceScatter:
      return algorithm == A::Ring              ? sent.ring(rank)
             : algorithm == A::DistanceHalving ? sent.halving(halving_distances(payload.ranks), false)
                                               : sent.direct_reduce_scatter();
    case Operation::AllGather:
      return algorithm == A::Ring                ? sent.ring(rank + 1)
             : algorithm == A::RecursiveDoubling ? sent.recursive_doubling_all_gather()
                                                 : sent.direct_all_gather();
    case Operation::AllToAll: return sent.of(sent.P - 1, sent.N / sent.P * (sent.P - 1));
    default: return {rounds, 0};
  }
}

int64_t scratch_of(Operation operation, Algorithm algorithm, const Payload& payload) {
  const int64_t N = payload.elements, P = payload.ranks, chunk = rounds_up(N, P);
  const Sent sent(payload, 0);
  const auto inbox = [&](int64_t longest, int ranks) {
    const auto most = static_cast<int64_t>(inbox_elements(static_cast<size_t>(payload.size), ranks));
    return std::min(longest, most) * payload.size;
  };
  const int64_t first_half = sent.fold.extra > 0 ? N : sent.offset(P / 2, P);  // or all, where it is folded in
  const bool scatters = operation == Operation::ReduceScatter;
  if (P == 1 || !is_reduction(operation)) {
    return 0;
  }
  switch (algorithm) {
    case A::OneShot: return (P - 1) * inbox(N, payload.ranks);
    case A::RecursiveDoubling: return inbox(N, 2);
    case A::HalvingDoubling: return inbox(first_half, 2);
    case A::DistanceHalving: return inbox(first_half, 2) + (scatters ? N * payload.size : 0);
    case A::BinomialTree: return 2 * inbox(N, 2);
    case A::Ring: return (scatters ? 2 : 1) * chunk * payload.size;
    default: return (P - 1) * inbox(operation == Operation::Reduce ? N : chunk, payload.ranks);
  }
}

}  // namespace ringlet
