// Checkpoints while training, when they are due; and a memory of the last one, for the proof that it can be resumed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/training/observer.h"
#include "apps/training/report.h"
#include "apps/training/stop_signal.h"
#include "apps/training/training_run.h"
#include "dist/checkpoint_save.h"

namespace ringlet {

/// When to save: at every multiple of `interval` (0: never) before the last step; at the last step when asked to (`at_end`), or when
/// a run that starts at step 0 would otherwise end without any; and when `minutes` (0: never) have passed since the last.
struct SaveSchedule {
  int64_t interval = 0;
  int64_t first_step = 0;
  int64_t last_step = 0;
  bool at_end = false;
  double minutes = 0.0;

  /// Whether this run saves at all; then it also does when a signal asks it to stop.
  bool wanted() const { return interval > 0 || at_end || minutes > 0.0; }
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
  int64_t rollbacks = 0;         // of the guard, so far
  std::vector<std::byte> bytes;  // of every StatePiece, one after the other
};

/// The bytes of `pieces`, in order, into `bytes`, which keeps its memory.
void copy_state(const std::vector<StatePiece>& pieces, std::vector<std::byte>& bytes);

struct SaverOptions {
  std::string dir;
  SaveSchedule schedule;
  bool with_snapshot = false;  // keep the state of the checkpoint that a proof starts from
  SaveOptions saving;          // how many stay; whether files are written behind training
  std::string copy_dir;        // complete checkpoints are copied there, behind training; empty: nowhere
};

SaverOptions saver_options(const TrainConfig& config, const std::string& dir, const SaveSchedule& schedule, bool with_snapshot);

/// Saves what is due, and what a signal asks for. Errors surface on all ranks: of a save on the spot at its own step, of one behind
/// training at the step that follows its failure.
class CheckpointSaver final : public Observer {
 public:
  /// `run`, `stop`, `printer` and `world` must outlive this. Memory for copies of the state is taken and touched here, so that the loop
  /// asks the system for nothing.
  CheckpointSaver(TrainingRun& run, SaverOptions options, const StopSignal& stop, const Printer& printer, Communicator& world);
  void on_step(const StepRecord& record) override;
  /// The state has a value that is not finite: it was due, and is not saved.
  std::string objection() override { return objection_; }
  bool wants_to_stop() override { return stopped_by_ != 0; }
  void on_rollback(int64_t step) override;

  /// (all) Waits for the save that is under way, if one is.
  void settle();
  /// (all) And for the copy.
  void finish();
  /// The signal, on whichever rank, that ended training after everything had been saved; or 0.
  int stopped_by() const { return stopped_by_; }
  /// Of the checkpoint at `SaveSchedule::last_before_end`, if it has been written.
  const std::optional<Snapshot>& snapshot() const { return snapshot_; }
  const std::optional<SavedCheckpoint>& last_saved() const { return last_saved_; }
  /// Seconds that training stood still for saves.
  double stall_seconds() const { return stall_seconds_; }

 private:
  using Clock = std::chrono::steady_clock;
  // What all ranks find at the end of a step.
  struct Boundary {
    int signal;
    bool clock_due;
    bool can_go_on;  // the save under way
    bool copy_is_done;
  };
  Boundary agree_at_boundary();
  void save(int64_t step);
  void start_copy();
  void finish_copy();

  TrainingRun& run_;
  SaverOptions options_;
  const StopSignal& stop_;
  const Printer& printer_;
  Communicator& world_;
  std::vector<std::byte> memory_;  // of the snapshot for the proof
  std::vector<std::byte> frozen_;  // what is being written behind training
  std::optional<CheckpointSave> pending_;
  std::string objection_;
  int stopped_by_ = 0;
  Clock::time_point last_save_ = Clock::now();
  double stall_seconds_ = 0.0;
  std::optional<Snapshot> snapshot_;
  std::optional<SavedCheckpoint> last_saved_;
  bool copying_ = false;  // the same on every rank
  Errand copy_;           // of rank 0
};

}  // namespace ringlet
