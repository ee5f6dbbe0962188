// The four claims that a run proves of itself, and how each verdict reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/training/memory_profile.h"
#include "apps/training/step_record.h"
#include "apps/training/train_config.h"

namespace ringlet {

struct Invariant {
  char letter;                // a, b, c, d
  std::optional<bool> holds;  // empty: not applicable
  std::string claim;          // "the loss falls at every one of the 20 steps, within float noise"
  std::string detail;         // the numbers; where it fails, by how much; where it does not apply, why

  /// "VERIFIED (a) …", "FAILED (a) …" or "not applicable (a) …". The fourth reads "RESUME VERIFIED (d) …".
  std::string line() const;
};

/// How much the mean loss L of a step may seem to rise by rounding alone. Every number is rounded to fp32, a relative u = 2⁻²⁴ each
/// time. A logit is a sum of C products: at most C + 1 roundings. A token's loss log Σ_V exp(z) − z adds log2 V for the pairwise sum
/// and 4 for exp, log and the differences. A micro-batch sums n of them pairwise: log2 n more; across micro-batches sums are in
/// fp64. To first order all these add up to
///   |δL| ≤ u·(C + 5 + log2 V + log2 n)·max(L, 1)
double loss_noise(const GptConfig& model, int64_t tokens_per_micro_batch, double loss);

/// (a) Over `history`, the records of all steps from 1 on. Not applicable to a corpus, to other sizes or other settings than the
/// promise is made for, or to a run that was resumed.
Invariant loss_falls(const std::vector<StepRecord>& history, const TrainConfig& config, int world_size);
/// (b) With sharded parameters: every unit, once unsharded, and so the logical hash.
Invariant replicas_equal(const std::vector<StepRecord>& history, const TrainConfig& config, int world_size);
/// (c)
Invariant memory_matches(const MemoryProfile& profile, const TrainConfig& config);

}  // namespace ringlet
