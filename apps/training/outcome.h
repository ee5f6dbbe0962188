// What came of a run: the end of the report for people, the summary for machines, and the exit code.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/training/checkpoint_saver.h"
#include "apps/training/communication_report.h"
#include "apps/training/exit_code.h"
#include "apps/training/invariants.h"
#include "apps/training/memory_profile.h"
#include "apps/training/report.h"
#include "apps/training/step_record.h"
#include "apps/training/training_data.h"
#include "apps/training/training_run.h"

namespace ringlet {

struct Outcome {
  Outcome(RunDescription description, std::vector<StepRecord> records)
      : run(std::move(description)), steps(std::move(records)) {}

  RunDescription run;
  std::vector<StepRecord> steps;
  MemoryProfile memory;
  std::optional<CommunicationReport> communication;                // with --ledger
  std::vector<Invariant> invariants;                               // a, b, c, d
  double heldout_loss = std::numeric_limits<double>::quiet_NaN();  // NaN: nothing was held out
  uint64_t final_param_hash = 0;
  GuardState guard;
  bool stopped = false;  // by a signal, before the last step

  /// Done if no invariant failed.
  ExitCode exit_code() const;
};

/// schema_version, world_size, backend, transport, strategy, reduction_order, parameters, steps, memory, communication (null without
/// --ledger), invariants, heldout_loss, final_param_hash, guard (rollbacks, skipped_batches), exit_code. 64-bit hashes are hex
/// strings, a number that is not finite is null, and so is an invariant that
/// does not apply.
std::string to_json(const Outcome& outcome);

/// The manifest of the last checkpoint, the memory profile, the held-out loss, the sample, the invariants. (all) The sample is made
/// where it is printed, on rank 0 alone, from parameters that all ranks summon.
void report_outcome(const Printer& printer, const Outcome& outcome, const std::optional<SavedCheckpoint>& saved,
                    TrainingRun& run, const TrainingData& data);

/// A run that a signal ended: where it can be taken up again.
void report_stop(const Printer& printer, const SavedCheckpoint& saved, int64_t steps);

/// --summary and --json, on rank 0.
void write_summary(const Outcome& outcome, const TrainConfig& config, const Communicator& world);

}  // namespace ringlet
