#include "apps/training/guard.h"

#include <algorithm>
#include <cmath>

#include "apps/training/failure.h"

namespace ringlet {

int64_t Guard::batch_of(int64_t step) const {
  int64_t batch = step;
  for (const int64_t skipped : state_.skipped) {  // ascending
    batch += skipped <= batch ? 1 : 0;
  }
  return batch;
}

// A deviation of less than a hundredth of the mean is taken for that: where losses hardly move, every breath would be a spike.
std::string Guard::spike(double loss) const {
  if (loss <= kNoise) {
    return "";
  }
  if (config_.spike_z_score > 0.0) {
    const double deviation = std::max(std::sqrt(state_.variance), 0.01 * state_.mean);
    const double z = (loss - state_.mean) / deviation;
    return state_.seen >= kWindow && z > config_.spike_z_score
               ? message("the loss {} lies {} deviations above the running mean {}", loss, z, state_.mean)
               : "";
  }
  return loss > kSpike * state_.last_loss  // false while there is no last loss (NaN)
             ? message("the loss {} is more than twice that of the step before, {}", loss, state_.last_loss)
             : "";
}

std::string Guard::objection(int64_t step, const StepResult& result) {
  if (!result.finite) {
    return message("loss {} and gradient norm {} must be finite", result.loss, result.grad_norm);
  }
  if (const std::string why = config_.on ? spike(result.loss) : ""; !why.empty()) {
    return why;
  }
  state_.last_loss = result.loss;
  state_.seen += 1;
  const double weight = 1.0 / static_cast<double>(std::min(state_.seen, kWindow));
  const double off = result.loss - state_.mean;
  state_.mean += weight * off;
  state_.variance = (1.0 - weight) * (state_.variance + weight * off * off);
  if (step > state_.furthest_refused) {
    state_.rollbacks_in_a_row = 0;
  }
  return "";
}

void Guard::refuse(const Refusal& refusal) {
  const auto fail_with = [&](const std::string& rule) {
    throw AgreedFailure(ExitCode::NonFinite,
                        message("guard: step {}, batch {}: {}; {}", refusal.step, refusal.batch, refusal.reason, rule));
  };
  if (!config_.on) {
    fail_with("--no-guard");
  }
  if (state_.rollbacks_in_a_row >= config_.retries) {
    fail_with(message("{} rollbacks in a row did not lead past it, --retries {} is spent", state_.rollbacks_in_a_row,
                      config_.retries));
  }
  state_.rollbacks += 1;
  state_.rollbacks_in_a_row += 1;
  state_.furthest_refused = std::max(state_.furthest_refused, refusal.step);
  state_.skipped.insert(std::upper_bound(state_.skipped.begin(), state_.skipped.end(), refusal.batch), refusal.batch);
}

void Guard::go_back_to(const GuardState& then) {
  state_.last_loss = then.last_loss;
  state_.mean = then.mean;
  state_.variance = then.variance;
  state_.seen = then.seen;
}

}  // namespace ringlet
