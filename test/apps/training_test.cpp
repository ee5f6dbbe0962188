#include "apps/training/train.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "apps/training/failure.h"
#include "apps/training/invariants.h"
#include "apps/training/memory_profile.h"
#include "apps/training/training_run.h"
#include "apps/training/warm_heap.h"
#include "collectives/backends/local.h"
#include "test/support/catch.h"
#include "test/support/run_ranks.h"

using namespace ringlet;

namespace {

struct Trained {
  std::vector<StepRecord> steps;
  MemoryProfile memory;
};

// A run of ranks-as-threads as the program would do it; what rank 0 saw.
Trained trained(TrainConfig config, int P) {
  Trained result;
  test::run_ranks(P, [&](Communicator& world) {
    TrainConfig mine = config;
    const TrainingData data = read_training_data(mine, world);
    TrainingRun run(mine, data, world);
    History history(mine.steps);
    run.train_until(mine.steps, history);
    const MemoryProfile memory = measure_memory(run.parallel(), mine.model, run.loader(), world);
    if (world.rank() == 0) {
      result = {history.records(), memory};
    }
  });
  return result;
}

std::vector<uint64_t> loss_bits(const Trained& run) {
  std::vector<uint64_t> bits;
  for (const StepRecord& record : run.steps) {
    bits.push_back(std::bit_cast<uint64_t>(record.loss));
  }
  return bits;
}

}  // namespace

TEST_CASE("the loss falls at every one of the first 20 steps, at 1 to 8 ranks and for ten seeds", "[training]") {
  for (int P = 1; P <= 8; ++P) {
    for (uint64_t seed = 1; seed <= (P == 1 || P == 3 ? 10 : 3); ++seed) {
      // One rank computes what P ranks would: the same micro-batches.
      TrainConfig config;
      config.model.seed = seed;
      config.global_batch_size = 4 * P;
      const Trained run = trained(config, 1);
      const Invariant falls = loss_falls(run.steps, config, 1);
      CAPTURE(P, seed, falls.line());
      CHECK(falls.holds == true);
    }
  }
}

TEST_CASE("losses have the same bits on 1, 2, 4 and 8 ranks, under every strategy, whatever a rank holds of a step",
          "[training]") {
  for (const int64_t sequences : {16, 32}) {
    std::vector<uint64_t> expected;
    for (const char* strategy : {"zero1", "ddp", "zero2", "fsdp", "hsdp"}) {
      for (const int P : {1, 2, 4, 8}) {
        TrainConfig config;
        config.steps = 6;
        config.global_batch_size = sequences;  // 4 or 8 micro-batches: some of 8 ranks may have none
        config.strategy = strategy;
        config.clip = 0.5;
        config.model.dropout = 0.1;
        const Trained run = trained(config, P);
        expected = expected.empty() ? loss_bits(run) : expected;
        CAPTURE(strategy, P, sequences);
        CHECK(loss_bits(run) == expected);
        CHECK(replicas_equal(run.steps, config, P).holds == true);
      }
    }
  }
}

TEST_CASE("any number of ranks trains: 3 and 5, a global batch that does not divide, dropout, sgd", "[training]") {
  for (const int P : {3, 5}) {
    TrainConfig config;
    config.steps = 4;
    config.global_batch_size = 10;  // micro-batches of 4, 4 and 2; at 5 ranks two have none
    config.model.dropout = 0.1;
    config.optimizer.name = "sgd";
    config.optimizer.momentum = 0.9;
    const Trained many = trained(config, P), one = trained(config, 1);
    for (size_t i = 0; i < one.steps.size(); ++i) {
      // Sums in another order: each of the losses differs by the noise of its own sum and what it did to the parameters.
      CHECK(many.steps[i].loss == Approx(one.steps[i].loss).epsilon(1e-5));
    }
    CHECK(replicas_equal(many.steps, config, P).holds == true);
  }
}

TEST_CASE("memory held is what the formulas say, to the byte, on every rank", "[training]") {
  struct Row {
    TrainConfig config;
    int P;
  };
  std::vector<Row> rows;
  const auto add = [&](int P, auto change) {
    Row row = {{}, P};
    row.config.steps = 3;
    change(row.config);
    rows.push_back(row);
  };
  for (const int P : {1, 2, 3, 4, 5, 8}) {
    add(P, [](TrainConfig&) {});
    for (const char* strategy : {"ddp", "zero2", "fsdp", "hsdp"}) {
      add(P, [&](TrainConfig& c) { c.strategy = strategy; });
    }
  }
  add(2, [](TrainConfig& c) {
    c.model.layers = 3;
    c.model.embed_dim = 24;
    c.model.vocab_size = 200;
    c.model.seq_len = 32;
  });
  add(2, [](TrainConfig& c) {
    c.model.layers = 1;
    c.model.embed_dim = 16;
    c.model.bias = false;
    c.model.tied_head = true;
  });
  add(2, [](TrainConfig& c) { c.model.tied_head = true; });
  add(2, [](TrainConfig& c) {  // the embedding's gradient is the largest thing
    c.model.tied_head = true;
    c.model.vocab_size = 512;
    c.model.seq_len = 4;
    c.batch_size = 1;
  });
  add(2, [](TrainConfig& c) { c.model.dropout = 0.1; });
  add(4, [](TrainConfig& c) {
    c.strategy = "fsdp";
    c.model.tied_head = true;
    c.model.dropout = 0.1;
    c.model.layers = 3;
  });
  add(2, [](TrainConfig& c) {
    c.batch_size = 2;
    c.global_batch_size = 14;  // 4 micro-batches on one rank, 3 on the other
  });
  for (const Row& row : rows) {
    const Trained run = trained(row.config, row.P);
    CAPTURE(row.P, row.config.strategy, row.config.model.embed_dim, row.config.batch_size);
    CHECK(memory_matches(run.memory, row.config).holds == true);
    for (const MemoryRow& memory : run.memory.rows) {
      CHECK(memory.held.parameters == memory.formula.parameters);
      CHECK(memory.held.gradients == memory.formula.gradients);
      CHECK(memory.held.optimizer == memory.formula.optimizer);
      CHECK(memory.held.activations_peak == memory.formula.activations_peak);
      CHECK(memory.held.communication == memory.formula.communication);
      CHECK(memory.overhead.padding <
            4 * row.P * (row.config.strategy == "zero2" || row.config.strategy.ends_with("sdp") ? 4 : 1));
      CHECK((memory.overhead.rounding > 0 && memory.overhead.cached > 0));
    }
  }
}

TEST_CASE("zero1 holds 12P/N optimizer bytes per rank, padded to N", "[training]") {
  for (const int P : {1, 2, 3, 4, 5, 8}) {
    TrainConfig config;
    config.steps = 1;
    const Trained run = trained(config, P);
    for (const MemoryRow& row : run.memory.rows) {
      CHECK(row.held.optimizer == 12 * ((29824 + P - 1) / P));
    }
  }
}

TEST_CASE("[L1] the learning rate follows completed updates", "[training]") {
  TrainConfig config;
  config.steps = 6;
  config.schedule = {.kind = Schedule::Kind::Linear, .lr = 5e-3, .min_lr = 0.0, .warmup = 2, .horizon = 6};
  const Trained run = trained(config, 1);
  for (size_t i = 0; i < run.steps.size(); ++i) {
    CHECK(run.steps[i].lr == learning_rate(config.schedule, static_cast<int64_t>(i)));
  }
}

TEST_CASE(
    "[M1] a loss or a gradient that is not finite on one rank alone makes every rank refuse that step, and nothing changes",
    "[training]") {
  for (const bool in_gradient : {false, true}) {
    for (const char* strategy : {"zero1", "ddp", "zero2", "fsdp", "hsdp"}) {
      class Poison final : public Observer {
       public:
        // While backward computes: afterwards gradients may have been sent.
        Poison(const Module& model, bool in_gradient_of_1, int rank) : grad_(in_gradient_of_1), rank_(rank) {
          Var last = model.parameters().back().var;
          last.on_gradient_ready([this, &model] {
            if (records.size() == 1 && grad_ && rank_ == 1) {
              const Var first = model.parameters().front().var;  // without gradient where layers are sharded
              Tensor grad = first.grad().defined() ? first.grad() : model.parameters().back().var.grad();
              *grad.mutable_data<float>() = std::nanf("");
            }
          });
        }
        void on_backward(int64_t step, LossSum& local) override {
          if (step == 2 && !grad_ && rank_ == 3) {
            local += TokenSum{std::nan(""), 0};
          }
        }
        void on_step(const StepRecord& record) override { records.push_back(record); }
        std::vector<StepRecord> records;

       private:
        bool grad_;
        int rank_;
      };
      test::run_ranks(4, [&](Communicator& world) {
        TrainConfig config;
        config.steps = 4;
        config.strategy = strategy;
        const TrainingData data = read_training_data(config, world);
        TrainingRun run(config, data, world);
        Poison poison(run.model(), in_gradient, world.rank());
        std::string refused;
        try {
          run.train_until(config.steps, poison);
        } catch (const AgreedFailure& failure) {
          refused = failure.what();
        }
        check(refused.starts_with("guard: step 2, batch 2: loss "), "rank {}: '{}'", world.rank(), refused);
        check(poison.records.size() == 1, "rank {} made {} steps", world.rank(), poison.records.size());
        check(run.parallel().parameter_hash() == poison.records[0].param_hash && run.parallel().updates() == 1,
              "a refused step changed parameters");
      });
    }
  }
}

TEST_CASE("after step 3 a training loop asks the system for nothing", "[training]") {
  keep_heap_warm();
  for (const int64_t sequences : {4, 16}) {
    const AllocatorScope scope(std::make_shared<Allocator>());
    const auto world = make_local();
    TrainConfig config;
    config.global_batch_size = sequences;
    const TrainingData data = read_training_data(config, *world);
    TrainingRun run(config, data, *world);
    History history(config.steps);
    run.train_until(config.steps, history);
    int64_t faults = 0;
    for (const StepRecord& record : history.records()) {
      CHECK((record.step <= 3 || record.system_requests == 0));
      faults += record.step > 3 ? record.page_faults : 0;
    }
    CHECK(faults < 10 * 17);
  }
}
