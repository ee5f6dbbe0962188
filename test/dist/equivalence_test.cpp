// All strategies at all numbers of ranks are the same program.
#include <algorithm>
#include <bit>
#include <cmath>

#include "test/dist/train_gpt.h"
#include "test/support/catch.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

void check_same(const TrainLog& log, const TrainLog& expected) {
  CHECK(log.replicas_equal);
  CHECK(log.hashes == expected.hashes);
  for (size_t step = 0; step < expected.results.size(); ++step) {
    const StepResult &got = log.results[step], &wanted = expected.results[step];
    CHECK(same_bits(got.loss, wanted.loss));
    CHECK(same_bits(got.grad_norm, wanted.grad_norm));
    CHECK(same_bits(got.coefficient, wanted.coefficient));
    CHECK(got.tokens == wanted.tokens);
    CHECK(same_bits(log.norms[step], expected.norms[step]));
  }
}

struct Row {
  const char* what;
  TrainOptions options;
};

const std::vector<Row> kRows{
    {"clipped, ragged counts, weight decay", {}},
    {"tied head", {.tied_head = true}},
    {"dropout", {.dropout = 0.2}},
    {"SGD with momentum", {.lr = 0.1, .optimizer = {.name = "sgd", .momentum = 0.9}}},
    {"more ranks than micro-batches", {.micro_batches = 4}},
    {"three blocks", {.max_norm = 0.1, .layers = 3}},
    {"nothing overlaps", {.max_norm = 0.1, .parallel = {.overlap = false, .prefetch = false}, .layers = 2}},
    {"parameters stay after forward", {.max_norm = 0.1, .parallel = {.reshard_after_forward = false}, .layers = 2}},
    {"reduced in every micro-batch",
     {.micro_batches = 16, .max_norm = 0.1, .parallel = {.reduce_every_micro_batch = true}, .layers = 2}},
    {"the same, and some ranks have less",
     {.micro_batches = 4, .max_norm = 0.1, .tied_head = true, .parallel = {.reduce_every_micro_batch = true}}},
};

}  // namespace

TEST_CASE("1, 2, 4 and 8 ranks, every strategy, accumulation in place of ranks: the same bits [G4] [G5] [H11] [A4]", "[dist]") {
  for (const Row& row : kRows) {
    TrainOptions options = row.options;
    options.strategy = "ddp";
    options.ranks = 1;
    const TrainLog one = train_gpt(options).front();
    REQUIRE(one.results.front().coefficient < 1.0);    // clipping takes part
    REQUIRE(one.hashes.front() != one.hashes.back());  // and so do updates
    for (const std::string& strategy : kStrategies) {
      for (const int ranks : {1, 2, 4, 8}) {
        INFO(row.what << ", " << strategy << " on " << ranks << " ranks");
        options.strategy = strategy;
        options.ranks = ranks;
        for (const TrainLog& log : train_gpt(options)) {
          check_same(log, one);
        }
      }
    }
  }
}

TEST_CASE("3, 5 and 6 ranks repeat themselves and agree with one rank to a bound", "[dist]") {
  TrainOptions options{.micro_batches = 30, .steps = 3};
  const TrainLog one = train_gpt(options).front();
  for (const int ranks : {3, 5, 6}) {
    std::vector<uint64_t> hashes;
    for (const std::string& strategy : kStrategies) {
      options.strategy = strategy;
      options.ranks = ranks;
      for (const TrainLog& log : train_gpt(options)) {
        INFO(strategy << " on " << ranks << " ranks");
        CHECK(log.replicas_equal);
        // hsdp sums over the ranks that share a copy first, and 3 + 3 is not order T's 4 + 2.
        if (strategy != "hsdp" || ranks % 2 != 0) {
          hashes.push_back(log.hashes.back());
        }
        CHECK(log.results[0].loss == Approx(one.results[0].loss).epsilon(1e-15));
        // 30 terms in another order: relative to Σ|g| each element differs by at most 5 additions' ε, the norm by no more.
        CHECK(log.results[0].grad_norm == Approx(one.results[0].grad_norm).epsilon(5 * 30 * 1.2e-7));
        // Adam's first updates are lr·g/|g|, so an element whose gradient is near 0 may move by 2·lr the other way, each step.
        double furthest = 0.0, total = 0.0;
        for (size_t i = 0; i < log.parameters.size(); ++i) {
          const double moved = std::abs(static_cast<double>(log.parameters[i]) - static_cast<double>(one.parameters[i]));
          furthest = std::max(furthest, moved);
          total += moved;
        }
        CHECK(furthest <= 2 * options.lr * static_cast<double>(options.steps));
        CHECK(total / static_cast<double>(log.parameters.size()) < 1e-5);
      }
    }
    CHECK(std::all_of(hashes.begin(), hashes.end(), [&](uint64_t hash) { return hash == hashes[0]; }));
    CHECK(hashes[0] !=
          one.hashes.back());  // the order of summation does matter: the equality above is not for want of rounding
  }
}

TEST_CASE("the sum over micro-batches is a balanced tree, not a running sum", "[dist]") {
  // 1 + 2^-53 is 1: a running sum loses every one of seven halves of an ulp, the tree adds them up first.
  const double half_ulp = std::ldexp(1.0, -53);
  TreeSum sum;
  sum.add(1.0);
  for (int i = 0; i < 7; ++i) {
    sum.add(half_ulp);
  }
  CHECK(sum.value() == 1.0 + 6 * half_ulp);
  CHECK(TreeSum().value() == 0.0);
}

TEST_CASE("a step of k micro-batches holds 1 + floor(log2 k) gradients", "[dist]") {
  for (int64_t k = 1; k <= 9; ++k) {
    auto held = per_rank<int64_t>(1);
    auto predicted = per_rank<int64_t>(1);
    run_ranks(1, [&](Communicator& comm) {
      const TrainOptions options{.strategy = "ddp", .micro_batches = k};
      Gpt model(tiny_gpt(options));
      const auto strategy = make_strategy(options.strategy, model, comm, options.optimizer);
      for (int64_t step = 0; step < 2; ++step) {
        train_step(*strategy, model, comm, options, step);
      }
      held[0] = Allocator::current()->ledger().of(Category::Gradients).peak;
      predicted[0] = strategy->memory_formula().gradients;
    });
    const auto copies = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(k)));
    INFO(k << " micro-batches");
    CHECK(held[0] == copies * 4 * tiny_gpt({}).parameter_count());
    CHECK(predicted[0] == held[0]);
  }
}
