#include "apps/training/exercise.h"

#include <limits>
#include <utility>

#include "apps/training/failure.h"

namespace ringlet {

Exercise::Exercise(const TrainConfig& config, Communicator& world)
    : nan_at_(config.nan_at),
      nan_here_(config.nan_rank == world.rank()),
      spike_at_(config.spike_at),
      multiplier_(config.spike_lr_multiplier) {
  agree(world, [&] {
    check<UsageError>(config.nan_rank < world.size(), "--nan-rank: must be one of the {} ranks, got {}", world.size(),
                      config.nan_rank);
  });
}

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
