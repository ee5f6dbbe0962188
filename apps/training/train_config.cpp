#include "apps/training/train_config.h"

namespace ringlet {

bool TrainConfig::has_default_sizes(int world_size) const {
  const TrainConfig defaults;
  GptConfig any_seed = defaults.model;
  any_seed.seed = model.seed;
  const int64_t sequences = micro_batches(world_size).sequences;
  return model == any_seed && batch_size == defaults.batch_size && sequences % batch_size == 0 && sequences <= 8 * batch_size;
}

bool TrainConfig::has_default_optimization() const {
  const TrainConfig defaults;
  return optimizer == defaults.optimizer && schedule.kind == defaults.schedule.kind && schedule.lr >= defaults.schedule.lr &&
         schedule.warmup == defaults.schedule.warmup && clip == defaults.clip && !parallel.bf16_gradients;
}

}  // namespace ringlet
