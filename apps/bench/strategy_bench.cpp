// strategy_bench: where the time of a training step goes under each strategy, in one run: forward, backward with what overlaps them,
// the rest of the reduction, the update with what it gathers; and how much of all that the rank spent in collectives, calling or
// waiting. And DDP with one all_reduce per parameter, beside its buckets.
//   mpirun -np 4 ./strategy_bench
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "apps/training/threads.h"
#include "collectives/backends/mpi.h"
#include "collectives/factory.h"
#include "collectives/recorded.h"
#include "dist/make_strategy.h"
#include "nn/gpt.h"
#include "tensor/base/random.h"

namespace ringlet {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kPhases = 6;  // forward, backward, finish, step, all of them; of it in collectives

struct Flags {
  GptConfig model;
  int64_t batch_size = 4, rounds = 30, steps = 5;
  std::string transport = "auto";
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

Tensor random_tokens(const Flags& flags, int rank) {
  const RandomStream stream(flags.model.seed, "strategy_bench", static_cast<uint64_t>(rank));
  Tensor ids = Tensor::empty({flags.batch_size, flags.model.seq_len}, DType::I32);
  int32_t* id = ids.mutable_data<int32_t>();
  for (int64_t i = 0; i < ids.numel(); ++i) {
    id[i] = static_cast<int32_t>(stream.below(static_cast<uint64_t>(i), static_cast<uint64_t>(flags.model.vocab_size)));
  }
  return ids;
}

/// A model under one strategy, and the milliseconds of its steps by phase, of the slowest rank.
class Contestant {
 public:
  Contestant(const Row& row, const Flags& flags, Communicator& world, const Ledger& ledger)
      : name(row.name), world_(world), ledger_(ledger), model_(flags.model), tokens_(random_tokens(flags, world.rank())) {
    const auto loss = [this](const Tensor& tokens, const Tensor& targets) {
      const TokenLoss forward = model_.loss(tokens, targets);
      forward_done_ = Clock::now();
      return forward;
    };
    parallel_ = make_strategy(row.strategy, model_, loss, world, OptimizerConfig{}, row.options);
  }

  void step() {
    world_.barrier();
    std::array<double, kPhases> took{};
    const double communicated = seconds_in_calls();
    const auto start = Clock::now();
    LossSum loss;
    loss += parallel_->forward_backward(tokens_, tokens_);
    const auto backward_done = Clock::now();
    static_cast<void>(parallel_->finish(loss, 1.0));
    const auto finished = Clock::now();
    parallel_->step(1e-3);
    const auto end = Clock::now();
    const auto ms = [](Clock::duration span) { return 1e3 * std::chrono::duration<double>(span).count(); };
    took = {
        ms(forward_done_ - start), ms(backward_done - forward_done_),        ms(finished - backward_done), ms(end - finished),
        ms(end - start),           1e3 * (seconds_in_calls() - communicated)};
    world_.all_reduce(took, ReduceOp::Max);
    for (size_t phase = 0; phase < took.size(); ++phase) {
      times_[phase].push_back(took[phase]);
    }
  }

  double median(size_t phase) {
    std::vector<double>& times = times_[phase];
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
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
  Clock::time_point forward_done_{};
};

int strategy_bench(int argc, char** argv) {
  CLI::App app("The time of a training step by phase, under each strategy. Run it under mpirun.");
  Flags flags;
  const auto whole = [&](const char* name, int64_t& target, const char* help) {
    app.add_option(name, target, help)->check(CLI::PositiveNumber)->capture_default_str();
  };
  whole("--layers", flags.model.layers, "blocks");
  whole("--embed-dim", flags.model.embed_dim, "width");
  whole("--heads", flags.model.heads, "attention heads");
  whole("--vocab-size", flags.model.vocab_size, "tokens known");
  whole("--seq-len", flags.model.seq_len, "tokens of a sequence");
  whole("--batch-size", flags.batch_size, "sequences per rank");
  whole("--rounds", flags.rounds, "in which each strategy has its turn");
  whole("--steps", flags.steps, "of a turn");
  app.add_option("--transport", flags.transport)->check(CLI::IsMember({"auto", "shm", "mpi"}))->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const MpiSession session;
  const auto ledger = std::make_shared<Ledger>();
  const auto world = make_recorded(make_world("mpi", {.transport = flags.transport}), {.ledger = ledger});
  choose_threads(*world, 0);  // cores divided by ranks
  std::vector<std::unique_ptr<Contestant>> contestants;
  for (const Row& row : rows()) {
    contestants.push_back(std::make_unique<Contestant>(row, flags, *world, *ledger));
  }
  for (int64_t round = 0; round < flags.rounds; ++round) {  // in turn: what disturbs one disturbs all
    for (const auto& one : contestants) {
      for (int64_t step = 0; step < flags.steps; ++step) {
        one->step();
      }
    }
  }
  if (world->rank() == 0) {
    std::printf("%d ranks over %s, %lld parameters; median ms of the slowest rank\n", world->size(),
                std::string(world->transport()).c_str(), static_cast<long long>(flags.model.parameter_count()));
    std::printf("%-18s %10s %10s %10s %10s %10s %15s\n", "", "forward", "backward", "finish", "step", "all", "in collectives");
    for (const auto& one : contestants) {
      std::printf("%-18s %10.3f %10.3f %10.3f %10.3f %10.3f %15.3f\n", one->name.c_str(), one->median(0), one->median(1),
                  one->median(2), one->median(3), one->median(4), one->median(5));
    }
  }
  return 0;
}

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) {
  ringlet::sleep_soon_when_waiting(argv);
  return ringlet::strategy_bench(argc, argv);
}
