// Distributed data parallel (Li et al., VLDB 2020): every rank holds everything, computes on its own micro-batches, and updates
// everything with the same summed gradient.
//   per step and rank: the flat gradient is all_reduced, 2(N−1)/N·T of T = 4P bytes, in buckets that leave while backward still runs
//   (gradient_buckets.h); and one all_reduce of 192 bytes.
//   memory with AdamW: 4P parameters + 4P gradients + 8P moments = 16P.
#pragma once

#include <vector>

#include "dist/data_parallel.h"
#include "dist/gradient_buckets.h"
#include "dist/gradient_wire.h"

namespace ringlet {

class Ddp final : public DataParallel {
 public:
  Ddp(Module& module, LossFunction loss, Communicator& comm, const OptimizerConfig& config,
      const ParallelOptions& options = {});

  std::string_view name() const override { return "ddp"; }
  MemoryFormula memory_formula() const override;

 private:
  void begin_micro_batch(bool reduces) override;
  void end_micro_batch(bool reduces) override;
  void send(int64_t begin, int64_t end);
  void wait_for_buckets();
  void finish_reduction() override;
  void forget_reduction() override;
  std::vector<Tensor> gradient_shards() const override { return {my_shard(unit(), unit().gradient.sum())}; }
  std::vector<Tensor> used_gradients() const override { return {unit().gradient.sum()}; }
  void update(double lr) override { optimizer().step(lr); }
  Tensor master_shard(size_t) const override { return my_shard(unit(), unit().parameter.data()); }
  Tensor optimizer_state_shard(size_t kind, size_t slice, const FlatParameter::Overlap& mine) const override;
  void spread_state() override;

  GradientBuckets buckets_;
  std::vector<SentGradient> under_way_;  // buckets
};

}  // namespace ringlet
