#include "apps/training/guard.h"

#include "apps/training/failure.h"

namespace ringlet {

Guard::Verdict Guard::judge(int64_t step, const StepResult& result) {
  if (!result.finite) {
    state_.skipped += 1;
    state_.skipped_in_a_row += 1;
    if (state_.skipped_in_a_row > retries_) {
      throw AgreedFailure(
          ExitCode::NonFinite,
          message("guard: loss or gradient is not finite in {} steps in a row, --retries {} is spent at step {} "
                  "(loss {}, gradient norm {})",
                  state_.skipped_in_a_row, retries_, step, result.loss, result.grad_norm));
    }
    return Verdict::Skip;
  }
  const bool spike = result.loss > kSpike * state_.last_loss;  // false while there is no last loss (NaN)
  state_.skipped_in_a_row = 0;
  state_.last_loss = result.loss;
  return spike ? Verdict::AcceptSpike : Verdict::Accept;
}

}  // namespace ringlet
