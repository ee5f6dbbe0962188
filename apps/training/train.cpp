#include "apps/training/train.h"

#include <bit>
#include <chrono>
#include <cmath>

#include "apps/training/failure.h"
#include "apps/training/warm_heap.h"
#include "nn/dropout.h"
#include "tensor/base/allocator.h"
#include "tensor/base/hash.h"

namespace ringlet {
namespace {

// What a step took: time, and what it wanted of the system.
class StepMeter {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  int64_t page_faults() const { return ringlet::page_faults() - faults_; }
  int64_t system_requests() const { return Allocator::current()->ledger().arena_requests - requests_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
  int64_t faults_ = ringlet::page_faults();
  int64_t requests_ = Allocator::current()->ledger().arena_requests;
};

StepRecord record_of(int64_t step, int64_t batch, const StepResult& result, double lr, const StepMeter& meter) {
  const double seconds = meter.seconds();
  return {.step = step,
          .loss = result.loss,
          .grad_norm = result.grad_norm,
          .lr = lr,
          .step_ms = 1e3 * seconds,
          .tokens_per_s = static_cast<double>(result.tokens) / seconds,
          .page_faults = meter.page_faults(),
          .system_requests = meter.system_requests(),
          .batch = batch};
}

// Empty, or why what the update led to must not be kept: after the last step no loss would tell. All ranks find alike, for only where
// their norms are equal is one believed.
std::string look_at_parameters(Strategy& parallel, StepRecord& record) {
  record.param_norm = parallel.parameter_norm();
  record.param_hash = parallel.parameter_hash();
  const auto norm_bits = std::bit_cast<uint64_t>(record.param_norm);
  record.replicas_equal = parallel.replicas_equal(record.param_hash ^ mix64(norm_bits));  // both in one message
  return record.replicas_equal && !std::isfinite(record.param_norm)
             ? message("after an update with learning rate {} the parameters must be finite, got norm {}", record.lr,
                       record.param_norm)
             : "";
}

}  // namespace

int64_t NoRecovery::roll_back(const Refusal& refusal) {
  throw AgreedFailure(ExitCode::NonFinite,
                      message("guard: step {}, batch {}: {}", refusal.step, refusal.batch, refusal.reason));
}

// [snippet: train]
int64_t train(Module& model, Strategy& parallel, const Loader& loader, Guard& guard, Observer& observer, Recovery& recovery,
              const TrainPlan& plan) {
  for (int64_t done = plan.first_step; done < plan.last_step;) {
    const StepMeter meter;
    const int64_t step = done + 1, batch = guard.batch_of(step);
    LossSum loss;  // this rank's: sum of token losses, and how many
    const IndexRange mine = loader.mine();
    for (int64_t micro = mine.begin; micro < mine.end; micro += mine.stride) {
      const auto local = parallel.no_sync(micro + mine.stride < mine.end);  // another follows: this one may only accumulate
      const auto [tokens, targets] = loader.load(batch - 1, micro);         // [B, T] each
      set_dropout_index(model, loader.index(batch - 1, micro));
      loss += parallel.forward_backward(tokens, targets);
    }
    observer.on_backward(step, loss);
    const StepResult result = parallel.finish(loss, plan.max_norm);  // global mean loss; norm over all ranks; clipped
    std::string objection = guard.objection(step, result);           // all ranks find alike
    if (objection.empty()) {
      const double lr = learning_rate(plan.schedule, parallel.updates()) * observer.lr_factor(step);
      parallel.step(lr);
      StepRecord record = record_of(step, batch, result, lr, meter);
      objection = look_at_parameters(parallel, record);
      if (objection.empty()) {
        observer.on_step(record);  // log, metrics, checkpoint when due
        objection = observer.objection();
        done = step;
      }
    }
    if (!objection.empty()) {
      parallel.skip();
      done = recovery.roll_back({step, batch, objection});
    } else if (observer.wants_to_stop()) {
      return done;
    }
  }
  return plan.last_step;
}
// [/snippet]

}  // namespace ringlet
