// Bytes held, counted at the allocator, beside the formula; and requests to the system after warm-up.
#include <algorithm>
#include <numeric>

#include "test/dist/train_gpt.h"
#include "test/support/catch.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

struct Held {
  MemoryLedger built, ledger, later;
  uint64_t hash = 0;  // as built
  MemoryFormula formula;
};

std::vector<Held> train_and_count(const TrainOptions& options) {
  auto held = per_rank<Held>(options.ranks);
  run_ranks(options.ranks, [&](Communicator& comm) {
    Held& mine = held[static_cast<size_t>(comm.rank())];
    Gpt model(tiny_gpt(options));
    const auto parallel = make_strategy(options.strategy, model, comm, options.optimizer, options.parallel);
    mine.built = Allocator::current()->ledger();
    mine.hash = parallel->parameter_hash();
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

namespace {

// A unit's bytes, padded to a multiple of the ranks that share it.
int64_t padded(int64_t numel, int ranks) { return 4 * ((numel + ranks - 1) / ranks * ranks); }

// The units of a GPT with an untied head, and what is known of each without building it: the embeddings, L blocks, the head.
std::vector<int64_t> unit_bytes(const GptConfig& config, int ranks) {
  const int64_t C = config.embed_dim, V = config.vocab_size;
  std::vector<int64_t> bytes{padded((V + config.seq_len) * C, ranks)};
  bytes.insert(bytes.end(), static_cast<size_t>(config.layers), padded(12 * C * C + 9 * C, ranks));
  bytes.push_back(padded(2 * C + C * V, ranks));
  return bytes;
}

// The two neighbours that are the largest together.
int64_t largest_pair(const std::vector<int64_t>& bytes) {
  int64_t most = 0;
  for (size_t i = 1; i < bytes.size(); ++i) {
    most = std::max(most, bytes[i] + bytes[i - 1]);
  }
  return most;
}

// The table of the documents, N ranks and s kinds of optimizer state.
MemoryFormula table(const std::string& strategy, const GptConfig& config, int N, int64_t s) {
  const int64_t whole = padded(config.parameter_count(), N);
  if (strategy == "ddp" || strategy == "zero1") {
    const int64_t optimizer = strategy == "ddp" ? s * whole : (s + 1) * whole / N;
    return {.parameters = whole, .gradients = whole, .optimizer = optimizer, .parameters_peak = whole, .gradients_peak = whole};
  }
  const int shards = strategy == "hsdp" && N % 2 == 0 ? N / 2 : N;
  const std::vector<int64_t> units = unit_bytes(config, shards);
  const int64_t all = std::accumulate(units.begin(), units.end(), int64_t{0}), shard = all / shards;
  const int64_t in_flight = largest_pair(units);
  if (strategy == "zero2") {
    return {all, shard, (s + 1) * shard, all, shard + in_flight};
  }
  return {shard, shard, s * shard, shard + in_flight, shard + in_flight};
}

}  // namespace

TEST_CASE("parameters, gradients and optimizer hold what the formula says, to the byte, at every number of ranks [G1]",
          "[dist]") {
  for (const std::string& strategy : kStrategies) {
    for (const char* optimizer : {"adamw", "sgd"}) {
      for (const int N : {1, 2, 3, 4, 8}) {
        INFO(strategy << " with " << optimizer << " on " << N << " ranks");
        const TrainOptions options{
            .strategy = strategy, .ranks = N, .micro_batches = N, .optimizer = {.name = optimizer}, .layers = 3};
        const MemoryFormula expected = table(strategy, tiny_gpt(options), N, options.optimizer.name == "adamw" ? 2 : 0);
        for (const Held& rank : train_and_count(options)) {
          CHECK(rank.ledger.of(Category::Parameters).live == expected.parameters);
          CHECK(rank.ledger.of(Category::Parameters).peak == expected.parameters_peak);
          CHECK(rank.ledger.of(Category::Gradients).live == expected.gradients);
          CHECK(rank.ledger.of(Category::Gradients).peak == expected.gradients_peak);
          CHECK(rank.ledger.of(Category::Optimizer).live == expected.optimizer);
          CHECK(rank.ledger.of(Category::Optimizer).peak == expected.optimizer);
          CHECK(rank.formula.parameters == expected.parameters);
          CHECK(rank.formula.gradients == expected.gradients);
          CHECK(rank.formula.optimizer == expected.optimizer);
          CHECK(rank.formula.parameters_peak == expected.parameters_peak);
          CHECK(rank.formula.gradients_peak == expected.gradients_peak);
        }
      }
    }
  }
}

TEST_CASE("a model is built unit by unit: the peak is the shards and one unit, to the byte, and the parameters are DDP's",
          "[dist]") {
  for (const bool tied : {false, true}) {
    for (const int N : {1, 2, 3, 4, 8}) {
      const uint64_t hash = train_and_count({.strategy = "ddp", .ranks = N, .tied_head = tied, .layers = 3}).front().hash;
      for (const std::string& strategy : kStrategies) {
        INFO(strategy << (tied ? " tied" : "") << " on " << N << " ranks");
        const TrainOptions options{.strategy = strategy, .ranks = N, .micro_batches = N, .tied_head = tied, .layers = 3};
        for (const Held& rank : train_and_count(options)) {
          CHECK(rank.hash == hash);
          CHECK(rank.built.of(Category::Parameters).live == rank.formula.parameters);
          CHECK(rank.built.of(Category::Parameters).peak == rank.formula.parameters_built);
          CHECK(rank.built.of(Category::Gradients).peak == rank.formula.gradients);
          CHECK(rank.built.of(Category::Optimizer).peak == rank.formula.optimizer);
          CHECK(rank.built.of(Category::Activations).peak == 0);
          if (!tied && (strategy == "fsdp" || strategy == "hsdp")) {
            const int shards = strategy == "hsdp" && N % 2 == 0 ? N / 2 : N;
            const std::vector<int64_t> units = unit_bytes(tiny_gpt(options), shards);
            int64_t expected = 0, kept = 0;
            for (const int64_t unit : units) {
              kept += unit / shards;
              expected = std::max(expected, kept + unit);
            }
            CHECK(rank.formula.parameters_built == expected);
          }
        }
      }
    }
  }
}

TEST_CASE("the peaks are what the formula says with every choice, tied or not, for 1 to 7 micro-batches a rank", "[dist]") {
  for (const char* strategy : {"zero2", "fsdp", "hsdp"}) {
    for (const bool tied : {false, true}) {
      for (const int64_t k : {1, 2, 3, 4, 7}) {
        for (int bits = 0; bits < 16; ++bits) {
          const ParallelOptions parallel{.overlap = (bits & 1) != 0,
                                         .reduce_every_micro_batch = (bits & 2) != 0,
                                         .reshard_after_forward = (bits & 4) != 0,
                                         .prefetch = (bits & 8) != 0};
          const TrainOptions options{.strategy = strategy,
                                     .ranks = 2,
                                     .micro_batches = 2 * k - 1,  // one rank has one less
                                     .tied_head = tied,
                                     .parallel = parallel,
                                     .layers = 2};
          INFO(strategy << (tied ? " tied" : "") << ", " << k << " micro-batches, choices " << bits);
          for (const Held& rank : train_and_count(options)) {
            CHECK(rank.ledger.of(Category::Parameters).live == rank.formula.parameters);
            CHECK(rank.ledger.of(Category::Parameters).peak == rank.formula.parameters_peak);
            CHECK(rank.ledger.of(Category::Gradients).live == rank.formula.gradients);
            CHECK(rank.ledger.of(Category::Gradients).peak == rank.formula.gradients_peak);
          }
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
