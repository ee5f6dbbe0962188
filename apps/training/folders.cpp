#include "apps/training/folders.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "apps/training/failure.h"
#include "dist/sharded_checkpoint.h"

namespace ringlet {
namespace {

namespace fs = std::filesystem;

// What rank 0 has, on every rank.
std::string from_rank_0(std::string text, Communicator& world) {
  auto length = static_cast<int32_t>(text.size());
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
  const bool is_step = from_rank_0(fs::exists(fs::path(dir) / "manifest.json") ? "yes" : "no", world) == "yes";
  if (is_step) {
    return {dir, {}};
  }
  const std::optional<FoundCheckpoint> found = find_latest(dir, world);
  if (!found) {
    throw AgreedFailure(ExitCode::Checkpoint, message("--resume: no checkpoint in {}", dir));
  }
  return {found->path, found->note.empty() ? std::vector<std::string>() : std::vector{found->note}};
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

void require_checkpoint_dir(const std::string& dir, Communicator& world) {
  agree(world, [&] {
    if (world.rank() != 0) {
      return;
    }
    std::error_code error;
    fs::create_directories(dir, error);
    check<CheckpointError>(!error, "--checkpoint-dir: {} cannot be made: {}", dir, error.message());
    std::string probe = (fs::path(dir) / ".probe.XXXXXX").string();
    const int file = mkstemp(probe.data());
    check<CheckpointError>(file >= 0, "--checkpoint-dir: {} takes no files: {}", dir, std::strerror(errno));
    close(file);
    fs::remove(probe);
  });
}

}  // namespace ringlet
