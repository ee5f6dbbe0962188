// A tiny GPT trained on P ranks as threads: the loop of a real program, with every number written down.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dist/make_strategy.h"
#include "nn/gpt.h"
#include "tensor/base/random.h"
#include "tensor/ops/cross_entropy.h"
#include "test/dist/toy_module.h"
#include "test/support/run_ranks.h"

namespace ringlet::test {

struct TrainOptions {
  std::string strategy = "zero1";
  int ranks = 1;
  int64_t micro_batches = 8;  // of a step, over all ranks
  int64_t steps = 5;
  double max_norm = 0.5;  // clips every early step
  double lr = 1e-2;
  bool tied_head = false;
  bool ragged = true;  // every other micro-batch ignores some labels, so that counts differ
  double dropout = 0.0;
  OptimizerConfig optimizer{.weight_decay = 0.1};
  ParallelOptions parallel{};
  int64_t layers = 1;
  DType dtype = DType::F32;
};

struct TrainLog {
  std::vector<StepResult> results;  // per step
  std::vector<double> norms;        // of the parameters, per step
  std::vector<uint64_t> hashes;     // of the parameters, per step
  bool replicas_equal = true;       // at every step
  std::vector<float> parameters;    // at the end
};

inline GptConfig tiny_gpt(const TrainOptions& options) {
  return {.layers = options.layers,
          .embed_dim = 12,
          .heads = 2,
          .vocab_size = 11,
          .seq_len = 6,
          .tied_head = options.tied_head,
          .dropout = options.dropout,
          .dtype = options.dtype};
}

inline Tensor random_tokens(const GptConfig& config, const char* purpose, int64_t index) {
  Tensor tokens = Tensor::empty({2, config.seq_len}, DType::I32);
  const RandomStream stream(7, purpose, static_cast<uint64_t>(index));
  const std::span<int32_t> ids = tokens.mutable_span<int32_t>();
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<int32_t>(stream.below(i, static_cast<uint64_t>(config.vocab_size)));
  }
  return tokens;
}

/// Micro-batch `micro` of `step`, the same whoever takes it.
inline std::pair<Tensor, Tensor> micro_batch(const TrainOptions& options, const GptConfig& config, int64_t step,
                                             int64_t micro) {
  const int64_t index = step * options.micro_batches + micro;
  const Tensor tokens = random_tokens(config, "tokens", index);
  Tensor targets = random_tokens(config, "targets", index);
  if (options.ragged && micro % 2 == 1) {
    const std::span<int32_t> labels = targets.mutable_span<int32_t>();
    std::fill(labels.begin(), labels.begin() + 1 + (step + micro) % 7, static_cast<int32_t>(kIgnoreIndex));
  }
  return {tokens, targets};
}

/// Micro-batches [rank·M/P, (rank + 1)·M/P) of a step; or rank, P + rank, 2P + rank, … when each is reduced.
inline StepResult train_step(Strategy& strategy, Gpt& model, Communicator& comm, const TrainOptions& options, int64_t step) {
  const bool dealt = options.parallel.reduce_every_micro_batch;
  const int64_t stride = dealt ? comm.size() : 1;
  const int64_t first = dealt ? comm.rank() : comm.rank() * options.micro_batches / comm.size();
  const int64_t last = dealt ? options.micro_batches : (comm.rank() + 1) * options.micro_batches / comm.size();
  LossSum loss;
  for (int64_t micro = first; micro < last; micro += stride) {
    const auto local = strategy.no_sync(micro + stride < last);
    model.set_dropout_index(static_cast<uint64_t>(step * options.micro_batches + micro));
    const auto [tokens, targets] = micro_batch(options, model.config(), step, micro);
    loss += strategy.forward_backward(tokens, targets);
  }
  const StepResult result = strategy.finish(loss, options.max_norm);
  strategy.step(options.lr);
  return result;
}

/// A model in training on one rank.
struct Job {
  Job(Communicator& world, const TrainOptions& wanted)
      : comm(world),
        options(wanted),
        model(tiny_gpt(wanted)),
        parallel(make_strategy(wanted.strategy, model, world, wanted.optimizer, wanted.parallel)) {}
  void train(int64_t first, int64_t last) {
    for (int64_t step = first; step < last; ++step) {
      result = train_step(*parallel, model, comm, options, step);
    }
  }

  Communicator& comm;
  TrainOptions options;
  Gpt model;
  std::unique_ptr<Strategy> parallel;
  StepResult result;  // of the last step
};

inline TrainLog train_on(Communicator& comm, const TrainOptions& options) {
  Gpt model(tiny_gpt(options));
  const auto strategy = make_strategy(options.strategy, model, comm, options.optimizer, options.parallel);
  TrainLog log;
  for (int64_t step = 0; step < options.steps; ++step) {
    log.results.push_back(train_step(*strategy, model, comm, options, step));
    log.norms.push_back(strategy->parameter_norm());
    log.hashes.push_back(strategy->parameter_hash());
    log.replicas_equal = log.replicas_equal && strategy->replicas_equal(log.hashes.back());
  }
  const auto whole = strategy->summon();
  for (const NamedParameter& parameter : model.parameters()) {
    const std::span<const float> values = parameter.var.data().span<float>();
    log.parameters.insert(log.parameters.end(), values.begin(), values.end());
  }
  return log;
}

/// What makes P ranks and calls the body on each: run_ranks, unless another is given.
using Run = std::function<void(int size, const std::function<void(Communicator&)>& body)>;

/// What every rank saw.
inline std::vector<TrainLog> train_gpt(const TrainOptions& options, const Run& run = {}) {
  auto logs = per_rank<TrainLog>(options.ranks);
  const auto body = [&](Communicator& comm) { logs[static_cast<size_t>(comm.rank())] = train_on(comm, options); };
  run == nullptr ? run_ranks(options.ranks, body) : run(options.ranks, body);
  return logs;
}

inline bool same_bits(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

}  // namespace ringlet::test
