// The training loop: the same for one rank, data parallel and ZeRO-1.
#pragma once

#include <cstdint>

#include "apps/training/guard.h"
#include "apps/training/loader.h"
#include "apps/training/observer.h"
#include "dist/strategy.h"
#include "nn/module.h"
#include "optim/schedule.h"

namespace ringlet {

struct TrainPlan {
  int64_t first_step = 0;  // steps that are done already
  int64_t last_step = 0;
  Schedule schedule;
  double max_norm = 0.0;  // 0: no clipping
};

/// (all) Steps first_step + 1 … last_step. Two clocks run: the step says which data comes next, and counts skipped steps too; the
/// completed updates say the learning rate. Both are saved with a checkpoint, nothing else decides what a step does.
void train(Module& model, Strategy& parallel, const Loader& loader, Guard& guard, Observer& observer, const TrainPlan& plan);

}  // namespace ringlet
