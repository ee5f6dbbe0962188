// What puts the guard to the test: --spike-at and --nan-at, each acting once in a process, so that the step goes well when it is
// repeated.
#pragma once

#include "apps/training/observer.h"
#include "apps/training/train_config.h"

namespace ringlet {

class Exercise final : public Observer {
 public:
  Exercise(const TrainConfig& config, const Communicator& world);
  /// --nan-at STEP --nan-rank R: the loss of that rank becomes NaN in that step.
  void on_backward(int64_t step, LossSum& local) override;
  /// --spike-at STEP --spike-lr-multiplier X.
  double lr_factor(int64_t step) override;
  void on_step(const StepRecord& /*record*/) override {}

 private:
  int64_t nan_at_;  // 0: not, or not any more
  bool nan_here_;
  int64_t spike_at_;
  double multiplier_;
};

}  // namespace ringlet
