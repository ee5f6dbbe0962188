// strategy_bench: where the time of a training step goes under each strategy, in one run: forward, backward with what overlaps them,
// the rest of the reduction, the update with what it gathers; and how much of all that the rank spent in collectives, calling or
// waiting. And DDP with one all_reduce per parameter, beside its buckets.
//   mpirun -np 4 ./strategy_bench
#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/bench/harness/bench_main.h"
#include "apps/bench/harness/call_time.h"
#include "apps/bench/harness/gpt_step.h"
#include "apps/bench/harness/moment.h"
#include "apps/training/threads.h"
#include "collectives/recorded.h"
#include "dist/make_strategy.h"
#include "nn/gpt.h"

namespace ringlet {
namespace {

constexpr size_t kPhases = 6;
// Of the last: seconds of the host, also where a GPU goes on while NCCL's calls have returned.
constexpr const char* kPhase[kPhases] = {"forward_ms", "backward_ms", "finish_ms", "step_ms", "all_ms", "in_collectives_ms"};

struct Sizes {
  GptConfig model;
  int64_t batch_size = 4, rounds = 30, steps = 5;
};

struct Row {
  std::string name;
  std::string strategy;
  ParallelOptions options;
};

std::vector<Row> rows() {
  ParallelOptions apart, in_turn, kept;
  apart.buckets = {1, 1};
  in_turn.overlap = in_turn.prefetch = false;
  kept.reshard_after_forward = false;
  return {{"ddp, buckets", "ddp", {}},
          {"ddp, by parameter", "ddp", apart},
          {"ddp, in turn", "ddp", in_turn},
          {"zero1", "zero1", {}},
          {"zero2", "zero2", {}},
          {"fsdp", "fsdp", {}},
          {"fsdp, in turn", "fsdp", in_turn},
          {"fsdp, kept whole", "fsdp", kept},
          {"hsdp", "hsdp", {}}};
}

/// A model under one strategy, and the milliseconds of its steps by phase, of the slowest rank.
class Contestant {
 public:
  Contestant(const Row& row, const Sizes& sizes, Communicator& world, const Ledger& ledger)
      : name(row.name),
        world_(world),
        ledger_(ledger),
        model_(sizes.model),
        tokens_(random_tokens(sizes.model, sizes.batch_size, "strategy_bench", static_cast<uint64_t>(world.rank()))) {
    const auto loss = [this](const Tensor& tokens, const Tensor& targets) {
      const TokenLoss forward = model_.loss(tokens, targets);
      forward_done_.emplace();
      return forward;
    };
    parallel_ = make_strategy(row.strategy, model_, loss, world, OptimizerConfig{}, row.options);
  }

  void step() {
    world_.barrier();
    const double communicated = seconds_in_calls();
    const Moment start;
    LossSum loss;
    loss += parallel_->forward_backward(tokens_, tokens_);
    const Moment backward_done;
    static_cast<void>(parallel_->finish(loss, 1.0));
    const Moment finished;
    parallel_->step(1e-3);
    const Moment end;
    std::array<double, kPhases> took = {forward_done_->seconds_since(start),
                                        backward_done.seconds_since(*forward_done_),
                                        finished.seconds_since(backward_done),
                                        end.seconds_since(finished),
                                        end.seconds_since(start),
                                        seconds_in_calls() - communicated};
    world_.all_reduce(took, ReduceOp::Max);
    for (size_t phase = 0; phase < took.size(); ++phase) {
      times_[phase].push_back(1e3 * took[phase]);
    }
  }

  nlohmann::ordered_json row() const {
    nlohmann::ordered_json row = {{"strategy", name}};
    for (size_t phase = 0; phase < kPhases; ++phase) {
      row[kPhase[phase]] = median(times_[phase]);
    }
    return row;
  }

  std::string name;

 private:
  double seconds_in_calls() const {
    double seconds = 0;
    for (const LedgerRow& row : ledger_.rows()) {
      seconds += row.seconds;
    }
    return seconds;
  }

  Communicator& world_;
  const Ledger& ledger_;
  Gpt model_;
  Tensor tokens_;
  std::unique_ptr<Strategy> parallel_;
  std::array<std::vector<double>, kPhases> times_;
  std::optional<Moment> forward_done_;
};

void print(const Communicator& world, const Sizes& sizes, const nlohmann::ordered_json& rows) {
  std::printf("%d ranks over %s, %lld parameters; median ms of the slowest rank\n", world.size(),
              std::string(world.transport()).c_str(), static_cast<long long>(sizes.model.parameter_count()));
  std::printf("%-18s %10s %10s %10s %10s %10s %15s\n", "", "forward", "backward", "finish", "step", "all", "in collectives");
  for (const auto& row : rows) {
    std::printf("%-18s", row["strategy"].get<std::string>().c_str());
    for (const char* phase : kPhase) {
      std::printf(phase == kPhase[kPhases - 1] ? " %15.3f\n" : " %10.3f", row[phase].get<double>());
    }
  }
}

std::string strategy_bench(const Sizes& sizes, const BenchSettings& settings) {
  const auto ledger = std::make_shared<Ledger>();
  const auto world = make_recorded(settings.world(), {.ledger = ledger});
  choose_threads(*world, 0);  // cores divided by ranks
  std::vector<std::unique_ptr<Contestant>> contestants;
  for (const Row& row : rows()) {
    contestants.push_back(std::make_unique<Contestant>(row, sizes, *world, *ledger));
  }
  for (int64_t round = 0; round < sizes.rounds; ++round) {  // in turn: what disturbs one disturbs all
    for (const auto& one : contestants) {
      for (int64_t step = 0; step < sizes.steps; ++step) {
        one->step();
      }
    }
  }
  nlohmann::ordered_json found = nlohmann::ordered_json::array();
  for (const auto& one : contestants) {
    found.push_back(one->row());
  }
  if (world->rank() == 0) {
    print(*world, sizes, found);
  }
  return found.dump(1);
}

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) {
  using namespace ringlet;
  Sizes sizes;
  const auto add_flags = [&](Flags& flags) {
    model_size_flags(flags, sizes.model);
    flags.mark("--bf16", sizes.model.bf16, true, "activations and products in bf16, on a GPU");
    flags.whole("--batch-size", sizes.batch_size, 1, 1'000'000, "sequences per rank");
    flags.whole("--rounds", sizes.rounds, 1, 1'000'000, "in which each strategy has its turn");
    flags.whole("--steps", sizes.steps, 1, 1'000'000, "of a turn");
  };
  const auto settle = [&](const BenchSettings& settings) {
    check(!sizes.model.bf16 || settings.on_gpu(), "--bf16: is computed on GPUs, got --device {}", settings.device);
    sizes.model.validate();
  };
  return bench_main({.name = "strategy_bench",
                     .description = "The time of a training step by phase, under each strategy. Run it under mpirun.",
                     .ranks = BenchRanks::OfJob,
                     .multiplies = true,
                     .flags = add_flags,
                     .settle = settle,
                     .run = [&](const BenchSettings& settings) { return strategy_bench(sizes, settings); }},
                    argc, argv);
}
