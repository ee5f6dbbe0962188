// Distributed data parallel (Li et al., VLDB 2020): every rank holds everything, computes on its own micro-batches, and updates
// everything with the same summed gradient.
//   per step and rank: the flat gradient is all_reduced, 2(N−1)/N·T of T = 4P bytes, in buckets that leave while backward still runs
//   (gradient_buckets.h); and one all_reduce of 184 bytes.
//   memory with AdamW: 4P parameters + 4P gradients + 8P moments = 16P.
#pragma once

#include <memory>
#include <vector>

#include "dist/data_parallel.h"
#include "dist/gradient_buckets.h"

namespace ringlet {

class Ddp final : public DataParallel {
 public:
  Ddp(Module& module, LossFunction loss, Communicator& comm, const OptimizerConfig& config, const BucketSizes& sizes = {});

  std::string_view name() const override { return "ddp"; }
  MemoryFormula memory_formula() const override;

 private:
  void begin_last_micro_batch() override { buckets_.open(); }
  void end_last_micro_batch() override { buckets_.send_rest(); }
  void forget_reduction() override;
  void reduce_gradient() override;
  Tensor used_gradient() const override { return gradient(); }
  void update(double lr) override { optimizer_->step(lr); }
  const Optimizer& optimizer() const override { return *optimizer_; }
  Optimizer& optimizer() override { return *optimizer_; }
  Tensor master_shard() const override { return my_shard(parameter().data()); }
  Tensor optimizer_state_shard(size_t kind, size_t entry) const override;
  void spread_state() override;

  std::unique_ptr<Optimizer> optimizer_;  // over the whole flat parameter
  GradientBuckets buckets_;
  std::vector<Work> under_way_;  // all_reduces of buckets of this step
};

}  // namespace ringlet
