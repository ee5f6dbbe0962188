#include "dist/zero.h"

#include <utility>

#include "dist/collective_ops.h"

namespace ringlet {

Zero1::Zero1(Module& module, LossFunction loss, Communicator& comm, const OptimizerConfig& config)
    : DataParallel(module, std::move(loss), comm),
      master_(my_shard(parameter().data()).clone(Category::Optimizer)),
      optimizer_(make_optimizer(config, parameter().slices(master_, my_shard(gradient()), shard_begin()))) {}

// [snippet: step]
// In place: the shard stays where it is in the flat gradient, so a second copy is never held.
void Zero1::reduce_gradient() {
  Tensor whole = gradient(), shard = my_shard(whole);
  comm().reduce_scatter(const_buffer_of(whole), buffer_of(shard), ReduceOp::Sum);
}

void Zero1::update(double lr) {
  optimizer_->step(lr);
  spread_state();
}

void Zero1::spread_state() {
  my_shard(parameter().data()).copy_from(master_);
  gather_shards(parameter().data());
}
// [/snippet]

MemoryFormula Zero1::memory_formula() const {
  const auto kinds = static_cast<int64_t>(optimizer_->state_kinds().size());
  return memory_formula_of((kinds + 1) * master_.bytes());
}

}  // namespace ringlet
