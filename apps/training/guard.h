// Between backward and step: is this an update that one wants to make?
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "dist/strategy.h"

namespace ringlet {

struct GuardConfig {
  bool on = true;       // off: spikes are accepted, and what is not finite ends the run at once
  int64_t retries = 3;  // rollbacks in a row, without getting past the step that was refused
  /// 0: a spike is a loss more than twice the last one; else one so many deviations above the running mean.
  double spike_z_score = 0;
};

/// What a guard remembers, and a checkpoint keeps.
struct GuardState {
  double last_loss = std::numeric_limits<double>::quiet_NaN();  // of the last accepted step
  double mean = 0.0, variance = 0.0;                            // running, of accepted losses
  int64_t seen = 0;                                             // of them
  int64_t rollbacks = 0;                                        // in all
  int64_t rollbacks_in_a_row = 0;
  int64_t furthest_refused = 0;       // a step beyond it ends the row
  std::vector<int64_t> skipped = {};  // batches that led nowhere, ascending, counted from 1

  friend bool operator==(const GuardState&, const GuardState&) = default;
};

/// As texts, for a manifest's meta, every double by its bits; and back. `guard_state_in` throws CheckpointError when one is missing or
/// no number.
std::map<std::string, std::string> to_meta(const GuardState& state);
GuardState guard_state_in(const std::map<std::string, std::string>& meta);

/// A step that was refused, and why.
struct Refusal {
  int64_t step = 0;
  int64_t batch = 0;
  std::string reason;
};

/// Decides on what `Strategy::finish` found over all ranks, before anything has changed; so all ranks decide alike, and no rank
/// can step while another does not.
///
/// A refused step leads back to the last good checkpoint, and its batch is left out of what comes: step k then trains on the k-th of
/// the batches that are not skipped. Steps, updates and learning rates stay what they were; only the data moves on.
class Guard {
 public:
  /// A loss more than this many times the last one is a spike.
  static constexpr double kSpike = 2.0;
  /// Below this many nats a loss is learnt, and may double by rounding alone: differences of logits around 10 are exact to 1e-6.
  static constexpr double kNoise = 1e-3;
  /// The memory of mean and variance, in steps; the z-score speaks once so many have been seen.
  static constexpr int64_t kWindow = 20;

  explicit Guard(const GuardConfig& config) : config_(config) {}

  /// The batch of step `step`, both counted from 1.
  int64_t batch_of(int64_t step) const;
  /// Empty, or why this update must not be made: loss or gradient not finite, or a spike. What is accepted is remembered.
  std::string objection(int64_t step, const StepResult& result);
  /// Counts a rollback that `refusal` makes necessary, and skips its batch. Throws AgreedFailure (exit code 6) when the retries are
  /// spent.
  void refuse(const Refusal& refusal);
  /// After a rollback to where the guard's state was `then`: losses are those of then, what was refused stays so.
  void go_back_to(const GuardState& then);

  const GuardState& state() const { return state_; }
  void restore(const GuardState& state) { state_ = state; }

 private:
  std::string spike(double loss) const;

  GuardConfig config_;
  GuardState state_;
};

}  // namespace ringlet
