// Where checkpoints of this run go, and where the one to resume from lies.
#pragma once

#include <string>
#include <vector>

#include "apps/training/train_config.h"
#include "collectives/communicator.h"

namespace ringlet {

/// (all) The step's folder that --resume means: DIR itself if it holds a manifest, else the latest in it. Throws CheckpointError, agreed
/// upon, when there is none.
struct ResumePoint {
  std::string path;                     // empty: the run starts anew
  std::vector<std::string> notes;       // what is worth saying about it
  bool named = false;                   // by its own folder: that one or none
  std::vector<std::string> warnings{};  // that it is not the one that was to be expected: said with --quiet too
};
ResumePoint find_resume_point(const std::string& dir, Communicator& world);

/// (all) --checkpoint-dir; else the folder that was resumed from; else a new name under runs/ (date, time and process), the same on
/// every rank.
std::string choose_checkpoint_dir(const TrainConfig& config, const std::string& resumed_path, Communicator& world);

/// (all) Makes `dir`, tries to write in it, and locks it until the process ends. Throws CheckpointError, agreed upon, also when another
/// run is at work in it, or when it holds steps of a run other than the one resumed from.
void require_checkpoint_dir(const std::string& dir, const std::string& resumed_path, Communicator& world);

/// (all) The same for `copy_dir`, the folder of copies, which may hold steps of the run `run_id` from before it was resumed.
void require_copy_dir(const std::string& copy_dir, const std::string& checkpoint_dir, const std::string& resumed_path,
                      const std::string& run_id, Communicator& world);

}  // namespace ringlet
