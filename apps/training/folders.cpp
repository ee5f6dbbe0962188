#include "apps/training/folders.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "apps/training/failure.h"
#include "collectives/control_scope.h"
#include "dist/checkpoint/checkpoint_directory.h"
#include "dist/sharded_checkpoint.h"

namespace ringlet {
namespace {

namespace fs = std::filesystem;

// What rank 0 has, on every rank.
std::string from_rank_0(std::string text, Communicator& world) {
  auto length = static_cast<int32_t>(text.size());
  const ControlScope control(world);
  world.broadcast(Buffer(&length, 1, DType::I32), 0);
  text.resize(static_cast<size_t>(length));
  world.broadcast(Buffer(text.data(), length, DType::U8), 0);
  return text;
}

std::string new_name() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &local);
  return message("runs/gpt_e2e-{}-{}", text.data(), getpid());
}

}  // namespace

ResumePoint find_resume_point(const std::string& dir, Communicator& world) {
  std::error_code error;  // a folder that may not be looked into has no manifest that we could read
  const bool is_step = from_rank_0(fs::exists(fs::path(dir) / "manifest.json", error) ? "yes" : "no", world) == "yes";
  if (is_step) {
    return {dir, {}, true};
  }
  const std::optional<FoundCheckpoint> found = find_latest(dir, world);
  if (!found) {
    throw AgreedFailure(ExitCode::Checkpoint, message("--resume: no checkpoint in {}", dir));
  }
  return {found->path, {}, false, found->note.empty() ? std::vector<std::string>() : std::vector{found->note}};
}

std::string choose_checkpoint_dir(const TrainConfig& config, const std::string& resumed_path, Communicator& world) {
  if (!config.checkpoint_dir.empty()) {
    return config.checkpoint_dir;
  }
  if (!resumed_path.empty()) {
    const fs::path step = fs::path(resumed_path).lexically_normal();
    const fs::path dir =
        (step.has_filename() ? step : step.parent_path()).parent_path();  // "a/step/" and "a/step" are the same
    return dir.empty() ? "." : dir.string();
  }
  return from_rank_0(new_name(), world);
}

namespace {

void require_writable_folder(const char* flag, const std::string& dir) {
  std::error_code error;
  fs::create_directories(dir, error);
  check<CheckpointError>(!error, "{}: {} cannot be made: {}", flag, dir, error.message());
  std::string probe = (fs::path(dir) / ".probe.XXXXXX").string();
  const int file = mkstemp(probe.data());
  check<CheckpointError>(file >= 0, "{}: {} takes no files: {}", flag, dir, std::strerror(errno));
  close(file);
  fs::remove(probe);
}

void require_no_steps(const char* flag, const std::string& dir) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir, error)) {
    const std::string name = entry.path().filename().string();
    check<CheckpointError>(!name.starts_with("step_") || name.ends_with(".tmp"),
                           "{}: {} holds {} of another run; go on with it by --resume, or name an empty folder", flag, dir,
                           name);
  }
}

// Steps of another run must neither be replaced by ours nor be taken for ours later.
void require_own_run(const std::string& dir, const std::string& resumed_path) {
  std::error_code error;
  const fs::path resumed = resumed_path.empty() ? fs::path() : fs::weakly_canonical(fs::path(resumed_path) / "..", error);
  if (!resumed_path.empty() && resumed == fs::weakly_canonical(dir, error)) {
    return;
  }
  require_no_steps("--checkpoint-dir", dir);
}

// Held until the process ends, however it ends. The file stays: removing it would race with the next run that locks it.
void lock(const char* flag, const std::string& dir) {
  const int file = open((fs::path(dir) / ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
  check<CheckpointError>(file >= 0, "{}: {} cannot be locked: {}", flag, dir, std::strerror(errno));
  check<CheckpointError>(flock(file, LOCK_EX | LOCK_NB) == 0, "{}: {} is in use by another run; name another folder", flag,
                         dir);
}

}  // namespace

void require_checkpoint_dir(const std::string& dir, const std::string& resumed_path, Communicator& world) {
  agree(world, [&] {
    if (world.rank() != 0) {
      return;
    }
    require_writable_folder("--checkpoint-dir", dir);
    require_own_run(dir, resumed_path);
    lock("--checkpoint-dir", dir);
  });
}

void require_copy_dir(const std::string& copy_dir, const std::string& checkpoint_dir, const std::string& resumed_path,
                      const std::string& run_id, Communicator& world) {
  constexpr const char* kFlag = "--checkpoint-copy";
  agree(world, [&] {
    if (world.rank() != 0) {
      return;
    }
    std::error_code error;
    check<UsageError>(fs::weakly_canonical(copy_dir, error) != fs::weakly_canonical(checkpoint_dir, error),
                      "{}: must be another folder than that of the checkpoints, got {}", kFlag, copy_dir);
    require_writable_folder(kFlag, copy_dir);
    if (resumed_path.empty()) {
      require_no_steps(kFlag, copy_dir);
    }
    try {
      require_same_run(copy_dir, run_id);
    } catch (const DataError& fault) {
      throw CheckpointError(message("{}: {}", kFlag, fault.what()));
    }
    lock(kFlag, copy_dir);
  });
}

}  // namespace ringlet
