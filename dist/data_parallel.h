// What all data-parallel strategies share whose ranks compute with the whole parameters: forward and backward into a flat
// gradient, one division, one norm, clipping. They differ in how the gradient is reduced and in which part of it a rank
// updates.
//
// (all): every rank calls it, in the same order; it communicates.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/communicator.h"
#include "dist/flat_gradient.h"
#include "dist/flat_parameter.h"
#include "dist/optimizer_config.h"
#include "dist/strategy.h"

namespace ringlet {

class DataParallel : public Strategy {
 public:
  TokenSum forward_backward(const Tensor& tokens, const Tensor& targets) override;
  TokenSum evaluate(const Tensor& tokens, const Tensor& targets) override;
  StepResult finish(const LossSum& local, double max_norm) override;
  void step(double lr) override;
  void skip() override;
  double parameter_norm() override;
  uint64_t parameter_hash() override;
  bool replicas_equal(uint64_t hash) override;
  std::vector<StatePiece> state() override;
  void adopt_state(int64_t updates) override;
  int64_t parameter_count() const override { return parameter_count_; }
  int64_t updates() const override { return optimizer().updates(); }

 protected:
  /// (all) Refuses modules that differ between ranks; then the parameters and buffers of rank 0 become everybody's.
  DataParallel(Module& module, LossFunction loss, Communicator& comm);

  Communicator& comm() const { return comm_; }
  const FlatParameter& parameter() const { return parameter_; }
  const Tensor& gradient() const { return gradient_.sum(); }
  FlatGradient& flat_gradient() { return gradient_; }
  /// This rank's 1/N of a flat tensor.
  Tensor my_shard(const Tensor& flat) const { return flat.narrow(0, shard_begin(), parameter_.shard_numel()); }
  int64_t shard_begin() const { return comm_.rank() * parameter_.shard_numel(); }
  /// What an entry of the flat parameter and the shard of `rank` have in common.
  FlatParameter::Overlap shard_overlap(size_t entry, int rank) const {
    const int64_t n = parameter_.shard_numel();
    return parameter_.overlap(parameter_.entries()[entry], rank * n, (rank + 1) * n);
  }
  /// (all) Every rank's shard of a flat tensor becomes everybody's.
  void gather_shards(Tensor flat);
  /// Parameters and gradients held, the same in every strategy of this kind; the optimizer's bytes are the strategy's own.
  MemoryFormula memory_formula_of(int64_t optimizer_bytes) const;

 private:
  /// Around the step's last micro-batch: what is complete may be reduced while it still computes.
  virtual void begin_last_micro_batch() {}
  virtual void end_last_micro_batch() {}
  /// The step is over, or dropped.
  virtual void forget_reduction() {}
  /// (all) gradient() = Σ over ranks: whole, or this rank's shard of it at least. Not called when a micro-batch threw.
  virtual void reduce_gradient() = 0;
  /// The part of gradient() that is reduced and will be used.
  virtual Tensor used_gradient() const = 0;
  /// (all) One optimizer update, and equal parameters everywhere afterwards.
  virtual void update(double lr) = 0;
  virtual const Optimizer& optimizer() const = 0;
  virtual Optimizer& optimizer() = 0;
  /// This rank's range of the parameters in full precision.
  virtual Tensor master_shard() const = 0;
  /// The optimizer's state of `entry` as far as it lies in this rank's shard.
  virtual Tensor optimizer_state_shard(size_t kind, size_t entry) const = 0;
  /// (all) Shards of the state have been overwritten: copies of them elsewhere follow.
  virtual void spread_state() = 0;

  /// A frozen parameter or a buffer: held whole by every rank, saved by its owner.
  struct Fixed {
    std::string name;
    std::string kind;
    Tensor tensor;
    int owner;
  };
  std::vector<Fixed> fixed_tensors() const;

  enum class Phase : uint8_t { Accumulating, Synced, Finished };

  LossFunction loss_;
  Communicator& comm_;
  std::vector<NamedParameter> parameters_;
  std::vector<NamedBuffer> buffers_;
  FlatParameter parameter_;
  FlatGradient gradient_;
  int64_t parameter_count_ = 0;
  Phase phase_ = Phase::Accumulating;
  StepResult result_;
};

}  // namespace ringlet
