#include "apps/training/train.h"

#include <bit>
#include <chrono>

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

StepRecord record_of(int64_t step, const StepResult& result, Guard::Verdict verdict, double lr, const StepMeter& meter) {
  const double seconds = meter.seconds();
  return {.step = step,
          .loss = result.loss,
          .grad_norm = result.grad_norm,
          .lr = lr,
          .step_ms = 1e3 * seconds,
          .tokens_per_s = static_cast<double>(result.tokens) / seconds,
          .page_faults = meter.page_faults(),
          .system_requests = meter.system_requests(),
          .skipped = verdict == Guard::Verdict::Skip,
          .spike = verdict == Guard::Verdict::AcceptSpike};
}

void look_at_parameters(Strategy& parallel, StepRecord& record) {
  record.param_norm = parallel.parameter_norm();
  record.param_hash = parallel.parameter_hash();
  const auto norm_bits = std::bit_cast<uint64_t>(record.param_norm);
  record.replicas_equal = parallel.replicas_equal(record.param_hash ^ mix64(norm_bits));  // both in one message
}

}  // namespace

// [snippet: train]
void train(Module& model, Strategy& parallel, const Loader& loader, Guard& guard, Observer& observer, const TrainPlan& plan) {
  for (int64_t step = plan.first_step; step < plan.last_step; ++step) {
    const StepMeter meter;
    LossSum loss;  // this rank's: sum of token losses, and how many
    const IndexRange mine = loader.mine();
    for (int64_t micro = mine.begin; micro < mine.end; ++micro) {
      const auto local = parallel.no_sync(micro + 1 < mine.end);  // only the last micro-batch communicates
      const auto [tokens, targets] = loader.load(step, micro);    // [B, T] each
      set_dropout_index(model, loader.index(step, micro));
      loss += parallel.forward_backward(tokens, targets);
    }
    observer.on_backward(step + 1, loss);
    const StepResult result = parallel.finish(loss, plan.max_norm);  // global mean loss; norm over all ranks; clipped
    const Guard::Verdict verdict = guard.judge(step + 1, result);    // all ranks decide alike
    const double lr = learning_rate(plan.schedule, parallel.updates());
    if (verdict == Guard::Verdict::Skip) {
      parallel.skip();
    } else {
      parallel.step(lr);
    }
    StepRecord record = record_of(step + 1, result, verdict, lr, meter);
    look_at_parameters(parallel, record);
    observer.on_step(record);  // log, metrics, checkpoint when due
  }
}
// [/snippet]

}  // namespace ringlet
