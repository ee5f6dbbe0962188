#include "apps/training/training_run.h"

#include <charconv>
#include <cmath>

#include "apps/training/failure.h"
#include "dist/make_strategy.h"

namespace ringlet {
namespace {

using Meta = std::map<std::string, std::string>;

// A double as its bits: exact, and defined for NaN.
std::string bits_of(double value) { return to_text(std::bit_cast<uint64_t>(value)); }

template <typename T>
T number_in(const Meta& meta, const std::string& key) {
  const auto found = meta.find(key);
  check<CheckpointError>(found != meta.end(), "checkpoint: the manifest lacks '{}': not written by gpt_e2e", key);
  T value{};
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check<CheckpointError>(error == std::errc() && end == text.data() + text.size(), "checkpoint: '{}' is no number, got '{}'",
                         key, text);
  return value;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += (text.empty() ? "" : "; ") + line;
  }
  return text;
}

}  // namespace

TrainingRun::TrainingRun(const TrainConfig& config, const TrainingData& data, Communicator& world)
    : config_(config),
      world_(world),
      settings_(settings_of(config, world.size(), data.dataset->fingerprint())),
      model_(config.model),
      parallel_(make_strategy(config.strategy, model_, world, config.optimizer, config.buckets)),
      loader_(*data.dataset, config.micro_batches(world.size()), config.model.seq_len, world.rank(), world.size()),
      guard_(config.retries) {}

void TrainingRun::train_until(int64_t last, Observer& observer) {
  const TrainPlan plan = {.first_step = step_, .last_step = last, .schedule = config_.schedule, .max_norm = config_.clip};
  train(model_, *parallel_, loader_, guard_, observer, plan);
  step_ = last;
}

Manifest TrainingRun::save(const std::string& dir, int64_t step) {
  const GuardState& guard = guard_.state();
  Meta meta(settings_.begin(), settings_.end());
  meta["step"] = to_text(step);
  meta["updates"] = to_text(parallel_->updates());
  meta["guard.last_loss"] = bits_of(guard.last_loss);
  meta["guard.skipped"] = to_text(guard.skipped);
  meta["guard.skipped_in_a_row"] = to_text(guard.skipped_in_a_row);
  return save_checkpoint(dir, step, parallel_->state(), meta, world_);
}

std::vector<std::string> TrainingRun::load(const std::string& path) {
  const Manifest manifest = read_manifest(path, world_);
  const Meta& meta = manifest.meta;
  SettingsChange change = compare_settings(settings_, meta);
  if (manifest.world_size != world_.size()) {
    auto& lines = change.refused.empty() ? change.announced : change.refused;
    lines.push_back(message("{} ranks read what {} ranks wrote", world_.size(), manifest.world_size));
  }
  check<CheckpointError>(change.refused.empty(), "checkpoint {}: belongs to another run: {}", path, joined(change.refused));
  const auto step = number_in<int64_t>(meta, "step");
  const auto updates = number_in<int64_t>(meta, "updates");
  const GuardState guard = {.last_loss = std::bit_cast<double>(number_in<uint64_t>(meta, "guard.last_loss")),
                            .skipped = number_in<int64_t>(meta, "guard.skipped"),
                            .skipped_in_a_row = number_in<int64_t>(meta, "guard.skipped_in_a_row")};
  check<CheckpointError>(step <= config_.steps, "checkpoint {}: is at step {}, beyond --steps {}", path, step, config_.steps);
  load_checkpoint(path, parallel_->state(), world_);
  parallel_->adopt_state(updates);
  guard_.restore(guard);
  step_ = step;
  return change.announced;
}

}  // namespace ringlet
