// What a training run is asked to do: every flag of gpt_e2e, as a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/training/communication_config.h"
#include "apps/training/guard.h"
#include "apps/training/micro_batches.h"
#include "apps/training/tokenizer.h"
#include "dist/make_strategy.h"
#include "nn/gpt_config.h"
#include "optim/schedule.h"

namespace ringlet {

struct TrainConfig {
  GptConfig model;  // with a corpus, the vocabulary is filled in from the text

  // Optimization
  int64_t steps = 20;
  int64_t batch_size = 4;         // B: sequences per rank and micro-batch
  int64_t global_batch_size = 0;  // G: sequences per step over all ranks; 0: ranks · B
  OptimizerConfig optimizer;
  Schedule schedule = {.kind = Schedule::Kind::Constant, .lr = 5e-3, .min_lr = 0.0, .warmup = 0, .horizon = 0};
  double clip = 0.0;  // largest global gradient norm; 0: any
  GuardConfig guard;
  int64_t spike_at = 0;  // 0: at no step
  double spike_lr_multiplier = 100.0;
  int64_t nan_at = 0;  // 0: at no step
  int64_t nan_rank = 0;
  std::string strategy = "zero1";
  ParallelOptions parallel;

  // Data
  std::string corpus;  // empty: synthetic
  Tokenizer::Kind tokenizer = Tokenizer::Kind::Bytes;
  std::optional<int64_t> asked_vocab_size;
  double heldout_fraction = 0.1;
  bool allow_binary = false;
  int64_t eval_every = 0;  // 0: only at the end
  int64_t sample = 200;    // characters generated at the end of a corpus run
  double temperature = 0.8;
  int64_t top_k = 0;  // 0: all

  // Checkpoints
  int64_t checkpoint_every = -1;  // −1: half the steps, rounded up; 0: none
  bool checkpoint_end = false;
  double checkpoint_minutes = 0.0;  // 0: the clock decides nothing
  int64_t keep_checkpoints = 0;     // 0: all
  bool checkpoint_behind = false;   // files are written while training goes on
  std::string checkpoint_copy;      // a second folder that complete checkpoints are copied to
  bool allow_changes = false;       // --resume takes settings that differ from the checkpoint's
  std::string checkpoint_dir;
  std::string resume;
  std::optional<bool> verify_resume;

  // Running and reporting
  std::string backend = "mpi";
  std::string transport = "auto";
  std::string device = "cpu";
  bool tf32 = false;  // products of f32 with factors rounded to TF32, on a GPU
  CommunicationConfig communication;
  int64_t ranks = 0;    // --np; 0: not given
  int64_t threads = 0;  // per rank; 0: chosen from cores and ranks
  int64_t log_every = 0;
  std::string metrics;
  std::string summary;
  bool json = false;
  bool info = false;
  bool quiet = false;
  std::vector<std::string> notes;  // on the command line itself, for rank 0 to say

  MicroBatches micro_batches(int world_size) const {
    return {global_batch_size > 0 ? global_batch_size : world_size * batch_size, batch_size};
  }
  int64_t checkpoint_interval() const { return checkpoint_every < 0 ? (steps + 1) / 2 : checkpoint_every; }
  /// The default model, batch size, and a global batch that 1 to 8 ranks have: there the loss is promised to fall at every step.
  bool has_default_sizes(int world_size) const;
  /// The default optimizer, schedule and clipping, and the default learning rate or a higher one: a lower one learns less in a step
  /// than batches differ by.
  bool has_default_optimization() const;
};

/// The command line of gpt_e2e: a configuration, or a text to print and be done (--help, --version).
struct CommandLine {
  TrainConfig config;
  std::optional<std::string> text;
};

/// Throws UsageError, one line, for whatever can be told to be wrong without reading a file or knowing the number of ranks.
CommandLine parse_train_config(int argc, const char* const* argv);

}  // namespace ringlet
