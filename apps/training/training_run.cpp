#include "apps/training/training_run.h"

#include <array>
#include <cstring>
#include <random>

#include "apps/training/counted.h"
#include "apps/training/failure.h"
#include "apps/training/hex.h"
#include "apps/training/meta.h"
#include "collectives/control_scope.h"
#include "dist/make_strategy.h"
#include "tensor/base/allocator.h"

namespace ringlet {
namespace {

// The same on every rank, and on no two runs.
std::string new_run_id(Communicator& world) {
  std::random_device source;
  std::array<int64_t, 1> id{static_cast<int64_t>(uint64_t{source()} << 32U | source())};
  const ControlScope control(world);
  world.broadcast(id, 0);
  return hex(static_cast<uint64_t>(id[0]));
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += (text.empty() ? "" : "; ") + line;
  }
  return text;
}

// Every rank finds the same.
const ParallelOptions& fitting(const ParallelOptions& options, const Communicator& world) {
  check<UsageError>(options.shard_ranks == 0 || world.size() % options.shard_ranks == 0,
                    "--shard-ranks: must divide the {}, got {}", counted(world.size(), "rank"), options.shard_ranks);
  return options;
}

}  // namespace

TrainingRun::TrainingRun(const TrainConfig& config, const TrainingData& data, Communicator& world)
    : config_(config),
      data_(data),
      world_(world),
      settings_(settings_of(config, world.size(), data.dataset->fingerprint())),
      model_(config.model),
      parallel_(make_strategy(config.strategy, model_, world, config.optimizer, fitting(config.parallel, world))),
      loader_(*data.dataset, config.micro_batches(world.size()), config.model.seq_len, world.rank(), world.size(),
              config.parallel.reduce_every_micro_batch),
      guard_(config.guard),
      run_id_(new_run_id(world)) {}

void TrainingRun::train_until(int64_t last, Observer& observer, Recovery* recovery) {
  NoRecovery none;
  const TrainPlan plan = {.first_step = step_, .last_step = last, .schedule = config_.schedule, .max_norm = config_.clip};
  step_ = train(model_, *parallel_, loader_, guard_, observer, recovery != nullptr ? *recovery : none, plan);
}

std::map<std::string, std::string> TrainingRun::meta(int64_t step) const {
  std::map<std::string, std::string> meta = to_meta(guard_.state());
  meta.insert(settings_.begin(), settings_.end());
  meta["run"] = run_id_;
  meta["step"] = to_text(step);
  meta["updates"] = to_text(parallel_->updates());
  return meta;
}

SavedCheckpoint TrainingRun::save(const std::string& dir, int64_t step, const SaveOptions& options) {
  return save_checkpoint(dir, step, parallel_->state(), meta(step), world_, options);
}

std::vector<std::string> TrainingRun::load(const std::string& path) {
  const Manifest manifest = read_manifest(path, world_);
  const std::map<std::string, std::string>& meta = manifest.meta;
  SettingsChange change = compare_settings(settings_, meta);
  if (config_.allow_changes) {
    change.announced.insert(change.announced.begin(), change.refused.begin(), change.refused.end());
    change.refused.clear();
  }
  if (manifest.world_size != world_.size()) {
    auto& lines = change.refused.empty() ? change.announced : change.refused;
    lines.push_back(message("{} read what {} wrote", counted(world_.size(), "rank"), counted(manifest.world_size, "rank")));
  }
  check<CheckpointMismatch>(change.refused.empty(), "checkpoint {}: belongs to another run: {}", path, joined(change.refused));
  const int64_t step = whole_in(meta, "step"), updates = whole_in(meta, "updates");
  const GuardState guard = guard_state_in(meta);
  const std::string& run_id = text_in(meta, "run");
  check<CheckpointMismatch>(step <= config_.steps, "checkpoint {}: is at step {}, beyond --steps {}", path, step,
                            config_.steps);
  load_checkpoint(path, parallel_->state(), world_);
  parallel_->adopt_state(updates);
  guard_.restore(guard);
  run_id_ = run_id;
  step_ = step;
  return change.announced;
}

// Parameters are a function of the seed, the optimizer begins with zeros: what was can be made again, and nobody needs to keep it.
void TrainingRun::start_over() {
  {
    TrainingRun fresh(config_, data_, world_);
    const std::vector<StatePiece> from = fresh.parallel().state(), to = parallel_->state();
    for (size_t i = 0; i < to.size(); ++i) {
      Tensor data = to[i].data;
      data.copy_from(from[i].data);
    }
  }
  Allocator::current()->reset_peaks();  // of the time in which two runs stood side by side
  parallel_->adopt_state(0);
  guard_.restore(GuardState{});
  step_ = 0;
}

}  // namespace ringlet
