// The held-out loss while training.
#pragma once

#include <cstdint>
#include <span>

#include "apps/training/observer.h"
#include "apps/training/report.h"
#include "apps/training/training_run.h"

namespace ringlet {

/// Evaluates and prints every `every` steps (0: never) but the last, after which the run does so by itself.
class HeldOutObserver final : public Observer {
 public:
  HeldOutObserver(TrainingRun& run, const TrainConfig& config, std::span<const int32_t> heldout, Communicator& world,
                  const Printer& printer)
      : run_(run), config_(config), heldout_(heldout), world_(world), printer_(printer) {}
  void on_step(const StepRecord& record) override;
  /// (all) Now; NaN when nothing is held out.
  double evaluate_now();

 private:
  TrainingRun& run_;
  const TrainConfig& config_;
  std::span<const int32_t> heldout_;
  Communicator& world_;
  const Printer& printer_;
};

}  // namespace ringlet
