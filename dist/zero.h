// ZeRO (Rajbhandari, Rasley, Ruwase & He, SC 2020), stage 1: gradients are summed into shards, each rank's optimizer updates
// its own shard of a separate master copy, and the new parameters are gathered. For stages 2 and 3 see fsdp.h.
//   per step and rank: reduce_scatter + all_gather = 2(N−1)/N·T of T = 4P bytes, as much as DDP; one all_reduce of 192 bytes.
//   memory with AdamW: 4P parameters + 4P gradients + (4P master + 8P moments)/N.
// The master copy is what bf16 parameters need to keep small updates; with fp32 parameters it is their equal, bit for bit.
#pragma once

#include "dist/data_parallel.h"

namespace ringlet {

class Zero1 final : public DataParallel {
 public:
  Zero1(Module& module, LossFunction loss, Communicator& comm, const OptimizerConfig& config,
        const ParallelOptions& options = {});

  std::string_view name() const override { return "zero1"; }
  MemoryFormula memory_formula() const override;

 private:
  void begin_micro_batch(bool reduces) override;
  void end_micro_batch(bool reduces) override;
  void reduce_scatter(const Tensor& whole);
  void finish_reduction() override { unit().gradient.finish(); }
  std::vector<Tensor> gradient_shards() const override { return used_gradients(); }
  std::vector<Tensor> used_gradients() const override { return {my_shard(unit(), unit().gradient.sum())}; }
  void update(double lr) override;
  Tensor master_shard(size_t) const override { return master_; }
  Tensor optimizer_state_shard(size_t kind, size_t slice, const FlatParameter::Overlap&) const override {
    return optimizer().state(kind, slice);
  }
  void spread_state() override;
  bool overwrites_replicas() const override { return true; }

  Tensor master_;  // [padded/N]
};

}  // namespace ringlet
