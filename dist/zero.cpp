#include "dist/zero.h"

#include <utility>

#include "dist/collective_ops.h"
#include "dist/gradient_wire.h"

namespace ringlet {

Zero1::Zero1(Module& module, LossFunction loss, Communicator& comm, const OptimizerConfig& config,
             const ParallelOptions& options)
    : DataParallel(module, std::move(loss), comm, config, options),
      master_(rarely_used(my_shard(unit(), unit().parameter.data()), Category::Optimizer)) {
  const Tensor gradient = seen_by_optimizer(my_shard(unit(), unit().gradient.reserve()));
  make_optimizer_over(config, unit().parameter.slices(master_, gradient, shard_begin(unit())));
}

void Zero1::begin_micro_batch(bool /*reduces*/) { unit().gradient.begin_micro_batch(); }

void Zero1::end_micro_batch(bool reduces) {
  FlatGradient& gradient = unit().gradient;
  if (options().reduce_every_micro_batch) {
    reduce_scatter(gradient.term());
  }
  gradient.end_micro_batch();
  if (reduces && !options().reduce_every_micro_batch) {
    gradient.finish();
    reduce_scatter(gradient.sum());
  }
}

// [snippet: step]
// In place: the shard stays where it is in the flat gradient, so a second copy is never held.
void Zero1::reduce_scatter(const Tensor& whole) {
  send_reduce_scatter(comm(), whole, my_shard(unit(), whole), options().bf16_gradients).wait();
}

void Zero1::update(double lr) {
  run_optimizer(lr);
  spread_state();
}

void Zero1::spread_state() {
  Tensor whole = unit().parameter.data(), shard = my_shard(unit(), whole);
  shard.copy_from(master_);
  comm().all_gather(const_buffer_of(shard), buffer_of(whole));
}
// [/snippet]

MemoryFormula Zero1::memory_formula() const {
  const auto kinds = static_cast<int64_t>(optimizer().state_kinds().size());
  MemoryFormula formula = whole_model_formula((kinds + 1) * master_.bytes());
  const int64_t whole = unit().parameter.padded_numel();
  add_communication(formula, comm(), Operation::ReduceScatter, whole, whole + unit().parameter.shard_numel());
  return formula;
}

}  // namespace ringlet
