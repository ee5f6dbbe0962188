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
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;  // the fp32 master copy included
  int64_t activations_peak = 0;
  int64_t communication = 0;  // at its peak: buffers live for the length of a call
};

struct MemoryRow {
  MemoryBytes held;
  MemoryBytes formula;
};

/// A row per rank, the same on every rank.
struct MemoryProfile {
  std::vector<MemoryRow> rows;

  /// Of `held`, over the ranks.
  MemoryBytes maximum() const;
  MemoryBytes mean() const;
  /// Whether optimizer bytes are what the formula says, on every rank.
  bool optimizer_matches() const;
};

/// (all) From the ledger of this thread's allocator, and the formulas of `parallel`, `activation_formula` and
/// `communication_formula`.
MemoryProfile measure_memory(const Strategy& parallel, const GptConfig& model, const Loader& loader, Communicator& world);

/// Bytes of activations at the peak of a step's largest micro-batch, [B, T], in fp32; see the .cpp for the sum. 0 without any.
int64_t activation_formula(const GptConfig& model, int64_t batch_size);
/// Bytes of the inboxes in which the gradients of `parameters` are summed over P ranks, by the algorithm that is taken by default
/// (scratch_of): for zero1 a reduce_scatter, (P − 1)·⌈N/P⌉ numbers in segments of at most kInboxBytes together; for ddp an
/// all_reduce. Over MPI messages also a slot for the fingerprint to and from each peer of a step. Over shared memory the rank's
/// share of the window.
int64_t communication_formula(std::string_view strategy, int64_t parameters, const Communicator& world);

}  // namespace ringlet
