// A training step of a GPT in one process, by phase.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "apps/bench/harness/bench_main.h"
#include "nn/gpt_config.h"

namespace ringlet {

struct StepRun {
  GptConfig model;
  int64_t batch_size = 4;  // sequences
  int64_t steps = 500;
  int64_t warmup = 50;  // steps before, not counted

  int64_t tokens() const { return batch_size * model.seq_len; }
};

/// Seconds of every step.
struct StepTimes {
  std::vector<double> forward, backward, optimizer, total;
};

/// On the device of the calling thread's tensors. A step: forward; backward; AdamW and zeroed gradients. The loss is read at its end, so
/// that no step begins before the last one is over.
StepTimes time_steps(const StepRun& run);

/// The products of a step alone: 6 operations per weight and token (2 forward, 4 backward), and 12·T·C per layer and token for the two
/// products of attention, as if no query had keys that it does not see (Chowdhery et al., 2022, appendix B).
double operations_per_step(const GptConfig& model, int64_t batch_size);

/// Ids of `batch_size` sequences, [B, T], on the device of the calling thread's tensors.
Tensor random_tokens(const GptConfig& model, int64_t batch_size, std::string_view purpose, uint64_t index);

/// --layers, --embed-dim, --heads, --vocab-size, --seq-len.
void model_size_flags(Flags& flags, GptConfig& model);

}  // namespace ringlet
