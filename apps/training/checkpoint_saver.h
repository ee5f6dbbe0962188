// Checkpoints while training, when they are due; and a memory of the last one, for the proof that it can be resumed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/training/observer.h"
#include "apps/training/report.h"
#include "apps/training/training_run.h"

namespace ringlet {

/// When to save: at every multiple of `interval` (0: never) before the last step; at the last step when asked to (`at_end`), or when
/// a run that starts at step 0 would otherwise end without any.
struct SaveSchedule {
  int64_t interval = 0;
  int64_t first_step = 0;
  int64_t last_step = 0;
  bool at_end = false;

  bool due(int64_t step) const;
  /// The checkpoint that a proof starts from: the last one before the end, or the one at the end if there is no other; −1: none.
  int64_t last_before_end() const;
};

SaveSchedule save_schedule(const TrainConfig& config, int64_t first_step);

/// What a rank held when it saved: its state, byte for byte.
struct Snapshot {
  int64_t step = -1;
  int64_t updates = 0;
  std::string path;
  std::vector<std::byte> bytes;  // of every StatePiece, one after the other
};

/// The bytes of `pieces`, in order, into `bytes`, which keeps its memory.
void copy_state(const std::vector<StatePiece>& pieces, std::vector<std::byte>& bytes);

struct SavedCheckpoint {
  std::string path;
  Manifest manifest;
};

class CheckpointSaver final : public Observer {
 public:
  /// `run` and `printer` must outlive this. `with_snapshot`: keep the state of the checkpoint that a proof starts from; its memory is
  /// taken and touched here, so that the loop asks the system for nothing.
  CheckpointSaver(TrainingRun& run, std::string dir, SaveSchedule schedule, bool with_snapshot, const Printer& printer);
  void on_step(const StepRecord& record) override;
  /// Of the checkpoint at `SaveSchedule::last_before_end`, if it has been written.
  const std::optional<Snapshot>& snapshot() const { return snapshot_; }
  const std::optional<SavedCheckpoint>& last_saved() const { return last_saved_; }

 private:
  TrainingRun& run_;
  std::string dir_;
  SaveSchedule schedule_;
  bool with_snapshot_;
  const Printer& printer_;
  std::vector<std::byte> memory_;
  std::optional<Snapshot> snapshot_;
  std::optional<SavedCheckpoint> last_saved_;
};

}  // namespace ringlet
