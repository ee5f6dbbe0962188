// Between reading the flags and the first step: what must be in place.
#pragma once

#include <optional>
#include <string>

#include "apps/training/checkpoint_saver.h"
#include "apps/training/faults.h"
#include "apps/training/folders.h"
#include "apps/training/training_run.h"

namespace ringlet {

/// (all) What only the world and the disk can tell of the flags: --nan-rank is a rank, --offload takes files. UsageError, agreed upon.
void require_sound_flags(const TrainConfig& config, Communicator& world);

/// (all) With --resume, brings `run` to where that checkpoint stands, and says where that is.
ResumePoint resume_if_asked(TrainingRun& run, const TrainConfig& config, const std::optional<Fault>& fault,
                            Communicator& world);

/// (all) Everything that will be written can be written; otherwise nothing has been trained in vain. UsageError for --metrics,
/// --summary and --trace, CheckpointError for the folders of checkpoints and of copies, which are made if any will be saved.
void require_writable_outputs(const TrainConfig& config, const SaveSchedule& saves, const std::string& checkpoint_dir,
                              const ResumePoint& resumed, const TrainingRun& run, Communicator& world);

}  // namespace ringlet
