// The proof that a checkpoint is enough: fresh objects that read it end where the first run ended.
#pragma once

#include <optional>
#include <vector>

#include "apps/training/checkpoint_saver.h"
#include "apps/training/invariants.h"
#include "apps/training/step_record.h"
#include "apps/training/train_config.h"
#include "apps/training/training_data.h"

namespace ringlet {

/// At most this many steps are repeated when nobody asked.
inline constexpr int64_t kRepeatedUnasked = 50;

/// Whether a proof will be made; if not, `why` says why not.
struct ProofDecision {
  bool wanted = false;
  std::string why;
};
ProofDecision decide_on_proof(const TrainConfig& config, const SaveSchedule& schedule);

/// (all) Builds a model, a strategy and a loader anew, loads the checkpoint, compares what was read with `snapshot` byte for byte on
/// every rank, trains on to the end of `history` and compares the bits of every loss and the last hash. Only the files connect
/// the two runs.
Invariant prove_resume(const Snapshot& snapshot, const std::vector<StepRecord>& history, const TrainConfig& config,
                       const TrainingData& data, Communicator& world);

/// (all) Invariant (d): the proof if one is `decision`, else why not. `rollbacks`: those of the whole run, of which none may lie behind
/// the snapshot.
Invariant resume_invariant(const ProofDecision& decision, const std::optional<Snapshot>& snapshot,
                           const std::vector<StepRecord>& history, int64_t rollbacks, const TrainConfig& config,
                           const TrainingData& data, Communicator& world);

}  // namespace ringlet
