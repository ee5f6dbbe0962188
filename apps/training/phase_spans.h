// What a rank computes, as spans on its timeline: forward, backward, what ends a step, and the step around them.
#pragma once

#include <memory>

#include "apps/training/observer.h"
#include "collectives/timeline.h"
#include "nn/module.h"

namespace ringlet {

/// Hooks into `model` and its parameters. Every micro-batch has a span "forward" and one "backward", from the loss to the last gradient;
/// "reduce and update" is the rest of a step. Forwards without gradients are "evaluate". Without a timeline nothing is hooked.
class PhaseSpans final : public Observer {
 public:
  PhaseSpans(std::shared_ptr<Timeline> timeline, Module& model);
  void on_backward(int64_t step, LossSum& local) override;
  void on_step(const StepRecord& record) override { end_step(record.step); }
  /// The step that began with the first forward after the last one is over.
  void end_step(int64_t step);

 private:
  struct State;
  std::shared_ptr<State> state_;  // the hooks know it weakly
};

}  // namespace ringlet
