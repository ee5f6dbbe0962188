#include "apps/training/preparation.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "apps/training/failure.h"
#include "apps/training/output_file.h"
#include "apps/training/rollback.h"

namespace ringlet {

void require_sound_flags(const TrainConfig& config, Communicator& world) {
  agree(world, [&] {
    check<UsageError>(config.nan_rank < world.size(), "--nan-rank: must be a rank, at most {}, got {}", world.size() - 1,
                      config.nan_rank);
    if (const std::string& dir = config.parallel.offload_dir; !dir.empty()) {
      std::string probe = (std::filesystem::path(dir) / ".probe.XXXXXX").string();
      const int file = mkstemp(probe.data());
      check<UsageError>(file >= 0, "--offload: must be a folder that takes files, got {}: {}", dir, std::strerror(errno));
      close(file);
      std::filesystem::remove(probe);
    }
  });
}

ResumePoint resume_if_asked(TrainingRun& run, const TrainConfig& config, const std::optional<Fault>& fault,
                            Communicator& world) {
  if (config.resume.empty()) {
    return {};
  }
  ResumePoint point = find_resume_point(config.resume, world);
  Faults::at(fault, "throw-load", world.rank());
  const Loaded loaded = point.named ? Loaded{point.path, run.load(point.path), {}} : load_or_earlier(run, point.path, world);
  point.path = loaded.path;
  point.warnings.insert(point.warnings.end(), loaded.warnings.begin(), loaded.warnings.end());
  point.notes.insert(point.notes.end(), loaded.notes.begin(), loaded.notes.end());
  for (const auto& [flag, at] : {std::pair("--spike-at", config.spike_at), std::pair("--nan-at", config.nan_at)}) {
    if (at > 0 && at <= run.step()) {
      point.warnings.push_back(message("{} {} changes nothing here: that step is done", flag, at));
    }
  }
  point.notes.push_back(message("{}, {} of {} steps done", point.path, run.step(), config.steps));
  return point;
}

void require_writable_outputs(const TrainConfig& config, const SaveSchedule& saves, const std::string& checkpoint_dir,
                              const ResumePoint& resumed, const TrainingRun& run, Communicator& world) {
  agree(world, [&] {
    if (world.rank() == 0) {
      require_different_files({{"--corpus", config.corpus},
                               {"--metrics", config.metrics},
                               {"--summary", config.summary},
                               {"--trace", config.communication.trace}});
    }
    if (world.rank() == 0 && !config.metrics.empty()) {
      require_writable("--metrics", config.metrics);
    }
    if (world.rank() == 0 && !config.summary.empty()) {
      require_writable("--summary", config.summary);
    }
    if (world.rank() == 0 && !config.communication.trace.empty()) {
      require_writable("--trace", config.communication.trace);
    }
  });
  if (saves.wanted()) {
    require_checkpoint_dir(checkpoint_dir, resumed.path, world);
    if (!config.checkpoint_copy.empty()) {
      require_copy_dir(config.checkpoint_copy, checkpoint_dir, resumed.path, run.run_id(), world);
    }
  }
}

}  // namespace ringlet
