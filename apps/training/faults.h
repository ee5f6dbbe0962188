// Faults on purpose, for tests: what the environment variable RINGLET_FAULT asks for goes wrong, on one rank, at one place.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "apps/training/observer.h"
#include "nn/module.h"

namespace ringlet {

/// RINGLET_FAULT="WHAT[:rank=R][:step=S]"; all ranks and step 1 when not said. WHAT:
///   throw     an exception in the step, after backward        throw-save   when the checkpoint of step S is due
///   throw-load   when a checkpoint is about to be read         kill         SIGKILL in the step
///   drift     after the step one parameter is another on this rank
///   hang      in the step this rank stops for ever             absent       it does so before MPI starts
///   nan-loss  this rank's loss of the step becomes NaN         nan-grad     one element of this rank's gradient does; both once
/// Anything else is a `UsageError`. Unset or empty, as in every real run, nothing happens.
struct Fault {
  std::string what;
  int rank = -1;
  int64_t step = 1;

  static std::optional<Fault> from_environment();
  static Fault parse(const std::string& text);
};

class Faults final : public Observer {
 public:
  /// `model` must outlive this, and be in the hands of its strategy already.
  Faults(std::optional<Fault> fault, int rank, const Module& model, int64_t first_step);
  void on_backward(int64_t step, LossSum& local) override;
  void on_step(const StepRecord& record) override;
  void on_rollback(int64_t step) override { now_->step = step + 1; }
  /// Where `rank` is what the launcher says.
  static void before_start(const std::optional<Fault>& fault, int rank);
  /// At other places: throws if the fault is `what`, here.
  static void at(const std::optional<Fault>& fault, const std::string& what, int rank);

 private:
  std::optional<Fault> fault_;  // empty unless it is this rank's
  const Module& model_;
  struct Now {
    int64_t step;        // under way
    bool spent = false;  // a fault that acts once
  };
  std::shared_ptr<Now> now_;  // a hook in the model knows it weakly
};

}  // namespace ringlet
