#include "collectives/algorithms/cost_model.h"

#include <bit>
#include <cmath>

#include "tensor/base/check.h"

namespace ringlet {
namespace {

using A = Algorithm;

// P ranks folded to Q, the power of two not above: L rounds among Q, and `fold` messages of everything before and after.
struct Rounds {
  explicit Rounds(int ranks)
      : P(ranks),
        Q(std::bit_floor(static_cast<unsigned>(ranks))),
        L(std::countr_zero(static_cast<unsigned>(Q))),
        tree(std::bit_width(static_cast<unsigned>(ranks - 1))),
        fold(P > Q ? 1 : 0) {}
  double P, Q, L, tree, fold;  // tree = ⌈log2 P⌉
};

Cost all_reduce_cost(Algorithm algorithm, double N, const Rounds& n) {
  const double rest = (n.P - 1) / n.P, folded_rest = (n.Q - 1) / n.Q;
  switch (algorithm) {
    case A::OneShot: return {n.P - 1, (n.P - 1) * N, (n.P - 1) * N};
    case A::RecursiveDoubling: return {n.L + 2 * n.fold, (n.L + 2 * n.fold) * N, (n.L + n.fold) * N};
    case A::HalvingDoubling:
    case A::DistanceHalving: return {2 * n.L + 2 * n.fold, (2 * folded_rest + 2 * n.fold) * N, (folded_rest + n.fold) * N};
    case A::BinomialTree: return {2 * n.tree, 2 * n.tree * N, n.tree * N};
    default: return {2 * (n.P - 1), 2 * rest * N, rest * N};  // direct and ring
  }
}

}  // namespace

Cost cost_of(Operation operation, Algorithm algorithm, double N, int ranks) {
  const Rounds n(ranks);
  const double rest = (n.P - 1) / n.P * N;
  switch (operation) {
    case Operation::AllReduce: return all_reduce_cost(algorithm, N, n);
    case Operation::Reduce:
      return algorithm == A::Direct ? Cost{n.P - 1, (n.P - 1) * N, (n.P - 1) * N} : Cost{n.tree, n.tree * N, n.tree * N};
    case Operation::Broadcast: return {n.tree, n.tree * N, 0};
    case Operation::ReduceScatter: return {algorithm == A::DistanceHalving ? n.L : n.P - 1, rest, rest};
    case Operation::AllGather: return {algorithm == A::RecursiveDoubling ? n.L : n.P - 1, rest, 0};
    case Operation::Gather:
    case Operation::Scatter:  // the tree's root brings the parts into the tree's order
      return algorithm == A::BinomialTree ? Cost{n.tree, rest, N} : Cost{n.P - 1, rest, 0};
    case Operation::AllToAll: return {n.P - 1, rest, 0};
    default: return {n.tree, 0, 0};
  }
}

}  // namespace ringlet
