#include "apps/training/preparation.h"

#include "apps/training/failure.h"
#include "apps/training/output_file.h"

namespace ringlet {

ResumePoint resume_if_asked(TrainingRun& run, const TrainConfig& config, const std::optional<Fault>& fault,
                            Communicator& world) {
  if (config.resume.empty()) {
    return {};
  }
  ResumePoint point = find_resume_point(config.resume, world);
  Faults::at(fault, "throw-load", world.rank());
  const std::vector<std::string> announced = run.load(point.path);
  point.notes.push_back(message("{}, {} of {} steps done", point.path, run.step(), config.steps));
  point.notes.insert(point.notes.end(), announced.begin(), announced.end());
  return point;
}

void require_writable_outputs(const TrainConfig& config, const SaveSchedule& saves, const std::string& checkpoint_dir,
                              Communicator& world) {
  agree(world, [&] {
    if (world.rank() == 0 && !config.metrics.empty()) {
      require_writable("--metrics", config.metrics);
    }
    if (world.rank() == 0 && !config.summary.empty()) {
      require_writable("--summary", config.summary);
    }
  });
  if (saves.last_before_end() >= 0) {
    require_checkpoint_dir(checkpoint_dir, world);
  }
}

}  // namespace ringlet
