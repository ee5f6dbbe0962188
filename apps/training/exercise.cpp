#include "apps/training/exercise.h"

#include <limits>
#include <utility>

namespace ringlet {

Exercise::Exercise(const TrainConfig& config, const Communicator& world)
    : nan_at_(config.nan_at),
      nan_here_(config.nan_rank == world.rank()),
      spike_at_(config.spike_at),
      multiplier_(config.spike_lr_multiplier) {}

void Exercise::on_backward(int64_t step, LossSum& local) {
  if (step == nan_at_) {
    nan_at_ = 0;
    if (nan_here_) {
      local += TokenSum{.sum = std::numeric_limits<double>::quiet_NaN(), .count = 0};
    }
  }
}

double Exercise::lr_factor(int64_t step) {
  if (step != spike_at_) {
    return 1.0;
  }
  spike_at_ = 0;
  return multiplier_;
}

}  // namespace ringlet
