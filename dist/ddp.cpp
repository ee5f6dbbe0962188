#include "dist/ddp.h"

#include <algorithm>
#include <utility>

#include "dist/collective_ops.h"

namespace ringlet {

// [snippet: overlap]
Ddp::Ddp(Module& module, LossFunction loss, Communicator& communicator, const OptimizerConfig& config,
         const ParallelOptions& options)
    : DataParallel(module, std::move(loss), communicator, config, options),
      buckets_(unit().parameter, options.buckets, [this](int64_t begin, int64_t end) { send(begin, end); }) {
  check(!options.offload_to_host,
        "offload: ddp updates the parameters that it computes with, on the GPU; take zero1, zero2, fsdp or hsdp");
  const FlatParameter& parameter = unit().parameter;
  make_optimizer_over(config, parameter.slices(parameter.data(), unit().gradient.reserve(), 0));
}

void Ddp::begin_micro_batch(bool reduces) {
  unit().gradient.begin_micro_batch();
  if (reduces && !options().record) {
    buckets_.open();
  }
}

void Ddp::send(int64_t begin, int64_t end) {
  FlatGradient& gradient = unit().gradient;
  const Tensor bucket =
      options().reduce_every_micro_batch ? gradient.term().narrow(0, begin, end - begin) : gradient.finish_range(begin, end);
  under_way_.push_back(send_all_reduce(comm(), bucket, options().bf16_gradients));
  if (!options().overlap) {
    under_way_.back().wait();
  }
}

void Ddp::end_micro_batch(bool reduces) {
  if (reduces) {
    buckets_.send_rest();  // on a rank without a micro-batch all of them leave here
  }
  if (options().reduce_every_micro_batch) {
    wait_for_buckets();  // terms are joined when they are sums over ranks
    forget_reduction();
  }
  unit().gradient.end_micro_batch();
}

void Ddp::wait_for_buckets() {
  for (SentGradient& bucket : under_way_) {
    bucket.wait();
  }
}

void Ddp::finish_reduction() {
  wait_for_buckets();
  unit().gradient.finish();
}

void Ddp::forget_reduction() {
  under_way_.clear();
  buckets_.reset();
}
// [/snippet]

Tensor Ddp::optimizer_state_shard(size_t kind, size_t slice, const FlatParameter::Overlap& mine) const {
  return optimizer().state(kind, slice).narrow(0, mine.begin_in_entry, mine.count);
}

void Ddp::spread_state() {
  FlatParameter& parameter = unit().parameter;
  const Tensor mine = my_shard(unit(), parameter.data());
  comm().all_gather(const_buffer_of(mine), buffer_of(parameter.data()));
  for (size_t kind = 0; kind < optimizer().state_kinds().size(); ++kind) {
    for (size_t entry = 0; entry < parameter.entries().size(); ++entry) {
      for (int rank = 0; rank < comm().size(); ++rank) {
        const FlatParameter::Overlap part = shard_overlap(parameter, entry, rank);
        broadcast(comm(), optimizer().state(kind, entry).narrow(0, part.begin_in_entry, part.count), rank);
      }
    }
  }
}

MemoryFormula Ddp::memory_formula() const {
  const auto kinds = static_cast<int64_t>(optimizer().state_kinds().size());
  int64_t under_way = 0, largest = 0;
  for (const Bucket& bucket : buckets_.buckets()) {
    under_way += bucket.end - bucket.begin;
    largest = std::max(largest, bucket.end - bucket.begin);
  }
  MemoryFormula formula = whole_model_formula(kinds * unit().parameter.data().bytes());
  add_communication(formula, comm(), Operation::AllReduce, largest, options().overlap ? under_way : largest);
  return formula;
}

}  // namespace ringlet
