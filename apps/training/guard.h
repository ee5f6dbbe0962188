// Between backward and step: is this an update that one wants to make?
#pragma once

#include <cstdint>
#include <limits>

#include "dist/strategy.h"

namespace ringlet {

/// What a guard remembers, and a checkpoint keeps.
struct GuardState {
  double last_loss = std::numeric_limits<double>::quiet_NaN();  // of the last accepted step
  int64_t skipped = 0;                                          // steps, in all
  int64_t skipped_in_a_row = 0;
};

/// Decides on what `Strategy::finish` found over all ranks, before anything has changed; so all ranks decide alike, and no rank
/// can step while another skips.
class Guard {
 public:
  /// A loss more than this many times the last one is a spike.
  static constexpr double kSpike = 2.0;

  explicit Guard(int64_t retries) : retries_(retries) {}

  enum class Verdict : uint8_t { Accept, AcceptSpike, Skip };
  /// Skip when loss or gradient norm is not finite. Throws AgreedFailure (exit code 6) when that has happened more than `retries`
  /// steps in a row.
  Verdict judge(int64_t step, const StepResult& result);

  const GuardState& state() const { return state_; }
  void restore(const GuardState& state) { state_ = state; }

 private:
  int64_t retries_;
  GuardState state_;
};

}  // namespace ringlet
