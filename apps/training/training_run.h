// Everything that a run trains with, built from its configuration: a model, a strategy around it, its share of the data.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "apps/training/guard.h"
#include "apps/training/loader.h"
#include "apps/training/settings.h"
#include "apps/training/train.h"
#include "apps/training/train_config.h"
#include "apps/training/training_data.h"
#include "collectives/communicator.h"
#include "dist/sharded_checkpoint.h"
#include "dist/strategy.h"
#include "nn/gpt.h"

namespace ringlet {

/// Built twice in one process when a resume is proved: the second knows nothing of the first but the checkpoint.
/// `config`, `data` and `world` must outlive it.
class TrainingRun {
 public:
  TrainingRun(const TrainConfig& config, const TrainingData& data, Communicator& world);

  const TrainConfig& config() const { return config_; }
  Gpt& model() { return model_; }
  Strategy& parallel() { return *parallel_; }
  const Loader& loader() const { return loader_; }
  Guard& guard() { return guard_; }
  const GuardState& guard_state() const { return guard_.state(); }
  /// Steps that are done, those before a resume included.
  int64_t step() const { return step_; }
  /// In every checkpoint of this run, and of those that go on from it.
  const std::string& run_id() const { return run_id_; }

  /// (all) Trains up to step `last`, or until `observer` wants to stop. Without a `recovery` a step that the guard refuses ends the run:
  /// AgreedFailure with exit code 6.
  void train_until(int64_t last, Observer& observer, Recovery* recovery = nullptr);

  /// The settings, and where the run stands after `step` steps: what a checkpoint keeps besides the strategy's state.
  std::map<std::string, std::string> meta(int64_t step) const;
  /// (all) Writes DIR/step_…: the strategy's state and `meta`.
  SavedCheckpoint save(const std::string& dir, int64_t step, const SaveOptions& options = {});
  /// (all) Goes back to what the checkpoint at `path` holds. Refuses (CheckpointMismatch), before anything is touched, one that was
  /// written under other settings, unless the configuration allows that; what differs harmlessly is returned, a line each.
  std::vector<std::string> load(const std::string& path);
  /// (all) Goes back to where it was when it was made: step 0, with the guard's state as it was then.
  void start_over();

 private:
  const TrainConfig& config_;
  const TrainingData& data_;
  Communicator& world_;
  Settings settings_;
  Gpt model_;
  std::unique_ptr<Strategy> parallel_;
  Loader loader_;
  Guard guard_;
  std::string run_id_;
  int64_t step_ = 0;
};

}  // namespace ringlet
