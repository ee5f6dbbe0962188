#include "apps/training/checkpoint_saver.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <utility>

#include "collectives/control_scope.h"
#include "dist/agreement.h"
#include "dist/checkpoint/checkpoint_publish.h"

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
          .at_end = config.checkpoint_end,
          .minutes = config.checkpoint_minutes};
}

SaverOptions saver_options(const TrainConfig& config, const std::string& dir, const SaveSchedule& schedule,
                           bool with_snapshot) {
  return {.dir = dir,
          .schedule = schedule,
          .with_snapshot = with_snapshot,
          .saving = {.keep = config.keep_checkpoints, .behind = config.checkpoint_behind},
          .copy_dir = config.checkpoint_copy};
}

void copy_state(const std::vector<StatePiece>& pieces, std::vector<std::byte>& bytes) {
  size_t total = 0;
  for (const StatePiece& piece : pieces) {
    total += static_cast<size_t>(piece.data.bytes());
  }
  bytes.resize(total);
  std::byte* to = bytes.data();
  for (const StatePiece& piece : pieces) {
    piece.data.read_bytes(to);
    to += piece.data.bytes();
  }
}

namespace {

// The same pieces with their bytes in `memory`, where nothing changes them.
std::vector<PieceBytes> frozen_in(std::vector<std::byte>& memory, const std::vector<StatePiece>& state) {
  copy_state(state, memory);
  std::vector<PieceBytes> pieces = bytes_of(state);
  std::span<const std::byte> rest = memory;
  for (PieceBytes& piece : pieces) {
    piece.bytes = rest.first(piece.bytes.size());
    rest = rest.subspan(piece.bytes.size());
  }
  return pieces;
}

}  // namespace

CheckpointSaver::CheckpointSaver(TrainingRun& run, SaverOptions options, const StopSignal& stop, const Printer& printer,
                                 Communicator& world)
    : run_(run), options_(std::move(options)), stop_(stop), printer_(printer), world_(world) {
  if (options_.with_snapshot) {
    copy_state(run_.parallel().state(), memory_);
  }
  if (options_.saving.behind) {
    copy_state(run_.parallel().state(), frozen_);
  }
}

// One small all_reduce. The clock is that of rank 0; a signal may have come to any.
CheckpointSaver::Boundary CheckpointSaver::agree_at_boundary() {
  const double minutes = std::chrono::duration<double>(Clock::now() - last_save_).count() / 60.0;
  const bool clock_due = world_.rank() == 0 && options_.schedule.minutes > 0.0 && minutes >= options_.schedule.minutes;
  std::array<int64_t, 4> flags = {stop_.received(), clock_due ? 1 : 0, pending_ && !pending_->is_ready() ? 1 : 0,
                                  copy_.is_done() ? 0 : 1};
  const ControlScope control(world_);
  world_.all_reduce(flags, ReduceOp::Max);
  return {static_cast<int>(flags[0]), flags[1] != 0, flags[2] == 0, flags[3] == 0};
}

void CheckpointSaver::on_step(const StepRecord& record) {
  objection_.clear();
  if (!options_.schedule.wanted()) {
    return;
  }
  const Boundary now = agree_at_boundary();
  const Clock::time_point start = Clock::now();
  const bool stops = now.signal != 0 && record.step < options_.schedule.last_step;
  if (pending_ && now.can_go_on && pending_->go_on()) {
    settle();
  }
  if (now.copy_is_done) {
    finish_copy();
  }
  if (options_.schedule.due(record.step) || now.clock_due || stops) {
    save(record.step);
  }
  if (stops && objection_.empty()) {
    finish();
    stopped_by_ = now.signal;
  }
  stall_seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
}

void CheckpointSaver::save(int64_t step) {
  finish();
  const std::vector<StatePiece> state = run_.parallel().state();
  try {
    pending_.emplace(options_.dir, step, options_.saving.behind ? frozen_in(frozen_, state) : bytes_of(state), run_.meta(step),
                     world_, options_.saving);
  } catch (const StateNotFinite& error) {
    objection_ = error.what();
    return;
  }
  last_save_ = Clock::now();
  if (options_.with_snapshot && step == options_.schedule.last_before_end()) {
    copy_state(state, memory_);
    snapshot_ =
        Snapshot{step, run_.parallel().updates(), (std::filesystem::path(options_.dir) / checkpoint_name(step)).string(),
                 run_.guard_state().rollbacks, std::move(memory_)};
  }
  if (!options_.saving.behind) {
    settle();
  }
}

void CheckpointSaver::settle() {
  if (!pending_) {
    return;
  }
  last_saved_ = pending_->finish();
  pending_.reset();
  last_saved_->path = std::filesystem::path(last_saved_->path).lexically_normal().string();
  printer_.line(message("{} saved", last_saved_->path));
  if (!last_saved_->note.empty()) {
    printer_.verdict(message("checkpoint: an older one could not be removed: {}", last_saved_->note));
  }
  if (!options_.copy_dir.empty()) {
    finish_copy();
    start_copy();
  }
}

void CheckpointSaver::finish() {
  settle();
  finish_copy();
}

// By a thread of rank 0, which reads what all ranks have written. Rotation may not take it away meanwhile: the next save waits.
void CheckpointSaver::start_copy() {
  copying_ = true;
  if (world_.rank() == 0) {
    copy_.start(true, [this, path = last_saved_->path] {
      copy_checkpoint(*options_.saving.calls, path, options_.copy_dir, options_.saving.keep);
    });
  }
}

void CheckpointSaver::finish_copy() {
  if (std::exchange(copying_, false)) {
    if (const std::string fault = agree_on_fault(world_, copy_.fault()); !fault.empty()) {
      throw CheckpointError(message("--checkpoint-copy: {}", fault));
    }
  }
}

void CheckpointSaver::on_rollback(int64_t step) {
  if (snapshot_ && snapshot_->step > step) {
    memory_ = std::move(snapshot_->bytes);
    snapshot_.reset();
  }
}

}  // namespace ringlet
