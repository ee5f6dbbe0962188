// The training loop: the same for one rank and for every strategy.
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

/// Where training goes on after a step that was refused.
class Recovery {
 public:
  virtual ~Recovery() = default;
  /// (all) Brings model, optimizer and guard to an earlier state. The steps that are done then. Throws AgreedFailure when there is no
  /// way on.
  virtual int64_t roll_back(const Refusal& refusal) = 0;
};

/// There is no way back: a refused step ends the run, exit code 6.
class NoRecovery final : public Recovery {
 public:
  int64_t roll_back(const Refusal& refusal) override;
};

/// (all) Steps first_step + 1 … last_step, or fewer when an observer wants to stop; the steps that are done. Two clocks run: the step,
/// with the guard's skipped batches, says which data comes next; the completed updates say the learning rate. Both are saved
/// with a checkpoint, nothing else decides what a step does.
int64_t train(Module& model, Strategy& parallel, const Loader& loader, Guard& guard, Observer& observer, Recovery& recovery,
              const TrainPlan& plan);

}  // namespace ringlet
