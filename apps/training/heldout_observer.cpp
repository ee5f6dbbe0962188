#include "apps/training/heldout_observer.h"

#include "apps/training/evaluate.h"

namespace ringlet {

double HeldOutObserver::evaluate_now() {
  return heldout_loss(run_.model(), run_.parallel(), heldout_, config_.model.seq_len, config_.batch_size, world_);
}

void HeldOutObserver::on_step(const StepRecord& record) {
  if (config_.eval_every > 0 && record.step % config_.eval_every == 0 && record.step < config_.steps && heldout_.size() > 1) {
    printer_.line(message("       held-out loss {} after step {}", evaluate_now(), record.step));
  }
}

}  // namespace ringlet
