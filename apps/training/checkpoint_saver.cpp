#include "apps/training/checkpoint_saver.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "dist/checkpoint_files.h"

namespace ringlet {

bool SaveSchedule::due(int64_t step) const {
  if (step == last_step) {
    return at_end || (first_step == 0 && interval == last_step);
  }
  return interval > 0 && step % interval == 0;
}

int64_t SaveSchedule::last_before_end() const {
  const int64_t last = interval > 0 ? (last_step - 1) / interval * interval : 0;  // the last multiple before the end
  if (last > first_step) {
    return last;
  }
  return due(last_step) ? last_step : -1;
}

SaveSchedule save_schedule(const TrainConfig& config, int64_t first_step) {
  return {.interval = config.checkpoint_interval(),
          .first_step = first_step,
          .last_step = config.steps,
          .at_end = config.checkpoint_end};
}

void copy_state(const std::vector<StatePiece>& pieces, std::vector<std::byte>& bytes) {
  size_t total = 0;
  for (const StatePiece& piece : pieces) {
    total += static_cast<size_t>(piece.data.bytes());
  }
  bytes.resize(total);
  std::byte* to = bytes.data();
  for (const StatePiece& piece : pieces) {
    if (piece.data.numel() > 0) {
      to = std::copy_n(piece.data.raw_data(), piece.data.bytes(), to);
    }
  }
}

CheckpointSaver::CheckpointSaver(TrainingRun& run, std::string dir, SaveSchedule schedule, bool with_snapshot,
                                 const Printer& printer)
    : run_(run), dir_(std::move(dir)), schedule_(schedule), with_snapshot_(with_snapshot), printer_(printer) {
  if (with_snapshot_) {
    copy_state(run_.parallel().state(), memory_);
  }
}

void CheckpointSaver::on_step(const StepRecord& record) {
  if (!schedule_.due(record.step)) {
    return;
  }
  last_saved_ =
      SavedCheckpoint{(std::filesystem::path(dir_) / checkpoint_name(record.step)).string(), run_.save(dir_, record.step)};
  printer_.line(message("{} saved", last_saved_->path));
  if (with_snapshot_ && record.step == schedule_.last_before_end()) {
    copy_state(run_.parallel().state(), memory_);
    snapshot_ = Snapshot{record.step, run_.parallel().updates(), last_saved_->path, std::move(memory_)};
  }
}

}  // namespace ringlet
