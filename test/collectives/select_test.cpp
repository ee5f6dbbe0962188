// Which algorithm is chosen: by size, ranks and order, and the costs that this rests on.
#include "collectives/algorithms/select.h"

#include <cmath>

#include "test/support/catch.h"

using namespace ringlet;  // NOLINT(google-build-using-namespace)

namespace {

Call all_reduce_of(size_t bytes, DType dtype = DType::F32) {
  static uint8_t somewhere = 0;
  const auto n = static_cast<int64_t>(bytes / size_of(dtype));
  return {.operation = Operation::AllReduce, .in = {&somewhere, n, dtype}, .out = {&somewhere, n, dtype}};
}

}  // namespace

TEST_CASE("by default few messages for small sums and few bytes for large ones, in order T", "[algorithms]") {
  struct Row {
    int ranks;
    DType dtype;
    Algorithm small, large;
  };
  using A = Algorithm;
  for (const Row& row :
       {Row{2, DType::F32, A::OneShot, A::Direct}, Row{4, DType::F32, A::RecursiveDoubling, A::HalvingDoubling},
        Row{3, DType::F32, A::OneShot, A::Direct}, Row{6, DType::F32, A::OneShot, A::Direct},
        Row{8, DType::I64, A::RecursiveDoubling, A::HalvingDoubling},
        Row{8, DType::BF16, A::OneShot, A::Direct}}) {  // doubling would round bf16 at every step
    INFO(row.ranks << " ranks, " << name_of(row.dtype));
    CHECK(select(all_reduce_of(64, row.dtype), row.ranks) == row.small);
    CHECK(select(all_reduce_of(1 << 24, row.dtype), row.ranks) == row.large);
  }
  for (int ranks = 2; ranks <= 16; ++ranks) {
    for (const DType dtype : {DType::F32, DType::BF16}) {
      for (size_t bytes = 4; bytes <= size_t{1} << 28; bytes *= 4) {
        CHECK(keeps_order(Operation::AllReduce, select(all_reduce_of(bytes, dtype), ranks), ranks, dtype));
      }
    }
  }
}

TEST_CASE("with any order a tree for small sums and the ring for large ones, where the cost model says", "[algorithms]") {
  for (int ranks = 4; ranks <= 16; ++ranks) {
    Algorithms any{.order = ReductionOrder::Any};
    CHECK(select(all_reduce_of(4), ranks, any) == Algorithm::BinomialTree);
    CHECK(select(all_reduce_of(1 << 24), ranks, any) == Algorithm::Ring);
    any.model.alpha = 1;  // a message costs more than any byte
    CHECK(select(all_reduce_of(1 << 24), ranks, any) == Algorithm::BinomialTree);
    any.model.alpha = 0;
    CHECK(select(all_reduce_of(64), ranks, any) == Algorithm::Ring);
  }
}

TEST_CASE("a closed form predicts what the slowest rank sends", "[algorithms]") {
  for (const int ranks : {2, 3, 4, 5, 8, 13, 16}) {
    for (const Operation operation : {Operation::AllReduce, Operation::ReduceScatter, Operation::AllGather}) {
      for (const Algorithm algorithm : algorithms_of(operation, ranks)) {
        INFO(name_of(operation) << " by " << name_of(algorithm) << " on " << ranks << " ranks");
        const int64_t elements = 24 * ranks * ranks;  // divides evenly, folded or not; less than a segment
        const Cost cost = cost_of(operation, algorithm, static_cast<double>(elements * 4), ranks);
        Traffic most;
        for (int r = 0; r < ranks; ++r) {
          const Traffic one = traffic_of(operation, algorithm, {elements, 4, ranks}, r);
          most = {std::max(most.messages, one.messages), std::max(most.bytes, one.bytes)};
        }
        // A tree's rounds wait for each other: more stands on the way than any rank sends.
        const bool tree = algorithm == Algorithm::BinomialTree;
        const bool folded = (ranks & (ranks - 1)) != 0 && cost.messages > static_cast<double>(most.messages);
        CHECK(static_cast<double>(most.messages) <= cost.messages);
        CHECK((tree || folded || static_cast<double>(most.messages) == cost.messages));
        CHECK(static_cast<double>(most.bytes) <= cost.bytes * (1 + 1e-12));
        CHECK((tree || folded || std::abs(static_cast<double>(most.bytes) - cost.bytes) < 0.5));
      }
    }
  }
}

TEST_CASE("an algorithm by name is taken wherever an operation has it, and the order is what it keeps", "[algorithms]") {
  const auto named = [](Algorithm one) { return Algorithms{.wherever = one}; };
  CHECK(select(all_reduce_of(4), 4, named(Algorithm::Ring)) == Algorithm::Ring);
  CHECK(select(all_reduce_of(4), 6, named(Algorithm::RecursiveDoubling)) == Algorithm::RecursiveDoubling);
  CHECK(named(Algorithm::RecursiveDoubling).of(Operation::AllGather, 4) == Algorithm::RecursiveDoubling);
  CHECK(named(Algorithm::RecursiveDoubling).of(Operation::AllGather, 6) == Algorithm::Auto);
  CHECK(named(Algorithm::Ring).of(Operation::Broadcast, 4) == Algorithm::Auto);
  CHECK(Algorithms{.all_reduce = Algorithm::Direct, .wherever = Algorithm::Ring}.of(Operation::AllReduce, 4) ==
        Algorithm::Direct);
  CHECK(Algorithms{}.kept(5) == ReductionOrder::Canonical);
  CHECK(Algorithms{.order = ReductionOrder::Any}.kept(5) == ReductionOrder::Any);
  CHECK(named(Algorithm::Ring).kept(4) == ReductionOrder::Any);
  CHECK(named(Algorithm::Ring).kept(2) == ReductionOrder::Canonical);  // two inputs have one order
  CHECK(named(Algorithm::HalvingDoubling).kept(4) == ReductionOrder::Canonical);
  CHECK(named(Algorithm::HalvingDoubling).kept(6) == ReductionOrder::Any);
  CHECK(named(Algorithm::HalvingDoubling).kept(4, DType::BF16) == ReductionOrder::Any);
}

TEST_CASE("an algorithm that an operation does not have is an error", "[algorithms]") {
  const Call gather{.operation = Operation::AllGather};
  CHECK_THROWS_WITH(select(gather, 4, {.all_gather = Algorithm::BinomialTree}),
                    "all_gather: has no algorithm 'binomial_tree' on 4 ranks");
  CHECK_THROWS_WITH(select(gather, 6, {.all_gather = Algorithm::RecursiveDoubling}),
                    "all_gather: has no algorithm 'recursive_doubling' on 6 ranks");
  CHECK(algorithm_named("ring") == Algorithm::Ring);
  CHECK_THROWS_WITH(algorithm_named("star"),
                    "algorithm: must be one of auto, direct, one_shot, recursive_doubling, halving_doubling, distance_halving, "
                    "binomial_tree, ring, pairwise, dissemination, got 'star'");
  CHECK(reduction_order_named("any") == ReductionOrder::Any);
  CHECK_THROWS_WITH(reduction_order_named("T"), "reduction order: must be one of canonical, any, got 'T'");
}
