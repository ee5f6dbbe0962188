#include "apps/training/rollback.h"

#include <filesystem>
#include <utility>

#include "dist/checkpoint/checkpoint_manifest.h"

namespace ringlet {
namespace {

namespace fs = std::filesystem;

// DIR and step of DIR/step_…; the step is −1 for a folder of another name.
std::pair<std::string, int64_t> taken_apart(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  const fs::path step = normal.has_filename() ? normal : normal.parent_path();
  return {step.has_parent_path() ? step.parent_path().string() : ".", step_of_name(step.filename().string())};
}

}  // namespace

Loaded load_or_earlier(TrainingRun& run, const std::string& path, Communicator& world) {
  Loaded loaded = {path, {}, {}};
  try {
    loaded.notes = run.load(path);
    return loaded;
  } catch (const CheckpointMismatch&) {
    throw;
  } catch (const CheckpointError& first) {
    const auto [dir, step] = taken_apart(path);
    loaded.warnings = {message("DAMAGED, not used: {}", first.what())};
    for (const std::string& earlier : earlier_checkpoints(dir, step, world)) {
      try {
        loaded.notes = run.load(earlier);
        loaded.path = earlier;
        loaded.warnings.push_back(message("the good checkpoint before it is {}", earlier));
        return loaded;
      } catch (const CheckpointMismatch&) {
        throw;
      } catch (const CheckpointError& error) {
        loaded.warnings.push_back(message("DAMAGED, not used: {}", error.what()));
      }
    }
    throw;
  }
}

Rollback::Rollback(TrainingRun& run, CheckpointSaver& saver, std::string resumed_path, Observer& observer,
                   const Printer& printer, Communicator& world)
    : run_(run), saver_(saver), resumed_path_(std::move(resumed_path)), observer_(observer), printer_(printer), world_(world) {}

int64_t Rollback::roll_back(const Refusal& refusal) {
  run_.guard().refuse(refusal);
  saver_.settle();
  const GuardState after = run_.guard().state();
  const std::string target = saver_.last_saved() ? saver_.last_saved()->path : resumed_path_;
  std::string where = "the initial state";
  if (target.empty()) {
    run_.start_over();
  } else {
    const Loaded loaded = load_or_earlier(run_, target, world_);
    where = loaded.path;
    for (const auto& lines : {loaded.warnings, loaded.notes}) {
      for (const std::string& line : lines) {
        printer_.verdict(message("guard: {}", line));
      }
    }
  }
  const GuardState then = run_.guard().state();
  run_.guard().restore(after);
  run_.guard().go_back_to(then);
  observer_.on_rollback(run_.step());
  printer_.verdict(
      message("guard: step {}, batch {}: {}; rolled back to step {} ({}), batch {} is skipped, rollback {} in a row",
              refusal.step, refusal.batch, refusal.reason, run_.step(), where, refusal.batch, after.rollbacks_in_a_row));
  return run_.step();
}

}  // namespace ringlet
