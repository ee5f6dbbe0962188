#include "dist/ddp.h"

#include <utility>

#include "dist/collective_ops.h"

namespace ringlet {

// [snippet: overlap]
Ddp::Ddp(Module& module, LossFunction loss, Communicator& communicator, const OptimizerConfig& config, const BucketSizes& sizes)
    : DataParallel(module, std::move(loss), communicator),
      optimizer_(make_optimizer(config, parameter().slices(parameter().data(), gradient(), 0))),
      buckets_(parameter(), sizes, [this](int64_t begin, int64_t end) {
        Tensor bucket = flat_gradient().finish_range(begin, end);
        under_way_.push_back(comm().start_all_reduce(buffer_of(bucket), ReduceOp::Sum));
      }) {}

void Ddp::reduce_gradient() {
  buckets_.send_rest();  // on a rank without a micro-batch all of them leave here
  for (Work& work : under_way_) {
    work.wait();
  }
}

void Ddp::forget_reduction() {
  under_way_.clear();
  buckets_.reset();
}
// [/snippet]

Tensor Ddp::optimizer_state_shard(size_t kind, size_t entry) const {
  const FlatParameter::Overlap mine = shard_overlap(entry, comm().rank());
  return optimizer_->state(kind, entry).narrow(0, mine.begin_in_entry, mine.count);
}

void Ddp::spread_state() {
  gather_shards(parameter().data());
  for (size_t kind = 0; kind < optimizer_->state_kinds().size(); ++kind) {
    for (size_t entry = 0; entry < parameter().entries().size(); ++entry) {
      for (int rank = 0; rank < comm().size(); ++rank) {
        const FlatParameter::Overlap part = shard_overlap(entry, rank);
        broadcast(comm(), optimizer_->state(kind, entry).narrow(0, part.begin_in_entry, part.count), rank);
      }
    }
  }
}

MemoryFormula Ddp::memory_formula() const {
  return memory_formula_of(static_cast<int64_t>(optimizer_->state_kinds().size()) * parameter().data().bytes());
}

}  // namespace ringlet
