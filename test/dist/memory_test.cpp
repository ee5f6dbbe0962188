// Bytes held, counted at the allocator, beside the formula; and requests to the system after warm-up.
#include "test/dist/train_gpt.h"
#include "test/support/catch.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

struct Held {
  MemoryLedger ledger, later;
  MemoryFormula formula;
};

std::vector<Held> train_and_count(const TrainOptions& options) {
  auto held = per_rank<Held>(options.ranks);
  run_ranks(options.ranks, [&](Communicator& comm) {
    Held& mine = held[static_cast<size_t>(comm.rank())];
    Gpt model(tiny_gpt(options));
    const auto parallel = make_strategy(options.strategy, model, comm, options.optimizer);
    for (int64_t step = 0; step < 3; ++step) {
      train_step(*parallel, model, comm, options, step);
    }
    mine.ledger = Allocator::current()->ledger();
    for (int64_t step = 3; step < 8; ++step) {
      train_step(*parallel, model, comm, options, step);
    }
    mine.later = Allocator::current()->ledger();
    mine.formula = parallel->memory_formula();
  });
  return held;
}

}  // namespace

TEST_CASE("parameters, gradients and optimizer hold what the formula says, to the byte, at every number of ranks [G1]",
          "[dist]") {
  const int64_t P = tiny_gpt({}).parameter_count();
  for (const std::string& strategy : kStrategies) {
    for (const char* optimizer : {"adamw", "sgd"}) {
      for (const int N : {1, 2, 3, 4, 8}) {
        INFO(strategy << " with " << optimizer << " on " << N << " ranks");
        const TrainOptions options{.strategy = strategy, .ranks = N, .micro_batches = N, .optimizer = {.name = optimizer}};
        const int64_t padded = (P + N - 1) / N * N;
        const int64_t states = options.optimizer.name == "adamw" ? 2 : 0;
        const int64_t expected = strategy == "zero1" ? (states + 1) * 4 * padded / N : states * 4 * padded;
        for (const Held& rank : train_and_count(options)) {
          CHECK(rank.ledger.of(Category::Parameters).live == 4 * padded);
          CHECK(rank.ledger.of(Category::Gradients).live == 4 * padded);
          CHECK(rank.ledger.of(Category::Gradients).peak == 4 * padded);
          CHECK(rank.ledger.of(Category::Optimizer).live == expected);
          CHECK(rank.ledger.of(Category::Optimizer).peak == expected);
          CHECK(rank.formula.parameters == 4 * padded);
          CHECK(rank.formula.gradients == 4 * padded);
          CHECK(rank.formula.optimizer == expected);
        }
      }
    }
  }
}

TEST_CASE("after three steps the system is not asked for memory again", "[dist]") {
  for (const std::string& strategy : kStrategies) {
    for (const Held& rank : train_and_count({.strategy = strategy, .ranks = 4})) {
      CHECK(rank.later.arena_requests == rank.ledger.arena_requests);
      CHECK(rank.later.of(Category::Activations).live == 0);
      CHECK(rank.later.of(Category::Communication).live == rank.ledger.of(Category::Communication).live);
    }
  }
}
