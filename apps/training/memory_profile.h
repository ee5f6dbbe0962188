// What every rank holds, counted at its allocator, beside what theory says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/training/loader.h"
#include "collectives/communicator.h"
#include "dist/strategy.h"
#include "nn/gpt_config.h"

namespace ringlet {

struct MemoryBytes {
  int64_t parameters = 0;  // at their peak within a step, like gradients: sharded ones are whole while they are used
  int64_t gradients = 0;
  int64_t optimizer = 0;  // the fp32 master copy included
  int64_t activations_peak = 0;
  int64_t communication = 0;  // at its peak: buffers live for the length of a call
};

/// What is held besides what is asked for.
struct MemoryOverhead {
  int64_t padding = 0;   // in every flat tensor of parameters, to a multiple of the ranks; part of the columns above
  int64_t rounding = 0;  // blocks that are larger than what they hold
  int64_t cached = 0;    // blocks that wait to be used again
};

struct MemoryRow {
  MemoryBytes held;
  MemoryBytes formula;
  // Of these, what is offloaded: in mapped files, or on the host beside a GPU.
  MemoryBytes offloaded = {};
  MemoryBytes offloaded_formula = {};
  MemoryOverhead overhead = {};
};

/// A row per rank, the same on every rank.
struct MemoryProfile {
  std::vector<MemoryRow> rows;

  /// Of `held`, over the ranks.
  MemoryBytes maximum() const;
  MemoryBytes mean() const;
  /// Each at its largest over the ranks.
  MemoryOverhead overhead() const;
  /// Whether optimizer bytes, and those of them that are offloaded, are what the formula says, on every rank.
  bool optimizer_matches() const;
};

/// (all) From the ledger of this thread's allocator, and the formulas of `parallel`, `activation_formula` and
/// `communication_formula`.
MemoryProfile measure_memory(const Strategy& parallel, const GptConfig& model, const Loader& loader, Communicator& world);

/// What a rank computes in a step, as far as its memory goes.
struct StepBatches {
  int64_t largest = 0;  // sequences of its largest micro-batch
  int64_t count = 1;    // of that size
  bool on_gpu = false;
};
/// Bytes of activations at the peak of a step's last micro-batch of the largest size, [B, T]; see the .cpp for the sum. 0 without any.
int64_t activation_formula(const GptConfig& model, const StepBatches& batches);
/// What `strategy` needs, or the 26 doubles that all ranks of `world` add up in every step, and what the transport holds; on a GPU the
/// first alone, for the others are in host memory.
int64_t communication_formula(const MemoryFormula& strategy, const Communicator& world, bool on_gpu);

}  // namespace ringlet
