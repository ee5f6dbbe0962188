// The way back from a step that was refused: the last good checkpoint, or the beginning.
#pragma once

#include <string>
#include <vector>

#include "apps/training/checkpoint_saver.h"
#include "apps/training/observer.h"
#include "apps/training/report.h"
#include "apps/training/train.h"
#include "apps/training/training_run.h"

namespace ringlet {

/// (all) `run.load(path)`; where that checkpoint is damaged the one before it in its folder, and so on, with a warning for each that names
/// what is wrong with it. What is whole but belongs to another run (CheckpointMismatch) is not stepped over. Throws the first error
/// when there is none left.
struct Loaded {
  std::string path;
  std::vector<std::string> notes;
  std::vector<std::string> warnings;  // which were damaged, and what is used instead
};
Loaded load_or_earlier(TrainingRun& run, const std::string& path, Communicator& world);

class Rollback final : public Recovery {
 public:
  /// `resumed_path`: the checkpoint that the run was resumed from, or empty. Everything must outlive this.
  Rollback(TrainingRun& run, CheckpointSaver& saver, std::string resumed_path, Observer& observer, const Printer& printer,
           Communicator& world);
  int64_t roll_back(const Refusal& refusal) override;

 private:
  TrainingRun& run_;
  CheckpointSaver& saver_;
  std::string resumed_path_;
  Observer& observer_;
  const Printer& printer_;
  Communicator& world_;
};

}  // namespace ringlet
