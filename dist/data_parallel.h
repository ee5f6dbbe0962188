// What all data-parallel strategies share: forward and backward into flat gradients, one division, one norm, clipping, one optimizer,
// state as logical pieces. They differ in how the parameters are cut into units, in when a unit's parameters are whole on a rank, in
// how its gradient is reduced, and in which part of it a rank updates.
//
// (all): every rank calls it, in the same order; it communicates.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/communicator.h"
#include "dist/flat_gradient.h"
#include "dist/flat_parameter.h"
#include "dist/global_norm.h"
#include "dist/optimizer_config.h"
#include "dist/parallel_options.h"
#include "dist/recorded_passes.h"
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
  int64_t updates() const override { return optimizer_->updates(); }
  MemoryLedger offloaded() const override { return offload_ == nullptr ? MemoryLedger{} : offload_->ledger(); }

 protected:
  /// What is flattened, moved and reduced at once: the whole module, or a layer.
  struct Unit {
    Unit(const std::vector<NamedParameter>& parameters, int shards) : parameter(parameters, shards), gradient(parameter) {}
    FlatParameter parameter;
    FlatGradient gradient;
  };
  /// Among how many ranks a unit is cut, and which piece is this rank's.
  struct Cut {
    int shards = 1;
    int mine = 0;
  };
  /// (all) Refuses modules that differ between ranks; then the frozen parameters and the buffers of rank 0 become everybody's.
  DataParallel(Module& module, LossFunction loss, Communicator& comm, Cut cut, const OptimizerConfig& config,
               const ParallelOptions& options);
  /// The trainable parameters as one unit, cut among all ranks.
  DataParallel(Module& module, LossFunction loss, Communicator& comm, const OptimizerConfig& config,
               const ParallelOptions& options);

  /// (all) The next unit, of these parameters, whole: the values of rank 0. Parameters that were deferred are made in the unit's memory.
  Unit& add_unit(const std::vector<NamedParameter>& parameters);

  Communicator& comm() const { return comm_; }
  const ParallelOptions& options() const { return options_; }
  const std::vector<std::unique_ptr<Unit>>& units() const { return units_; }
  /// The only one.
  Unit& unit() const { return *units_.front(); }
  const Cut& cut() const { return cut_; }
  /// This rank's piece of a flat tensor of `unit`.
  Tensor my_shard(const Unit& unit, const Tensor& flat) const {
    return flat.narrow(0, shard_begin(unit), unit.parameter.shard_numel());
  }
  int64_t shard_begin(const Unit& unit) const { return cut_.mine * unit.parameter.shard_numel(); }
  /// What an entry of a flat parameter and the shard of `rank` have in common.
  static FlatParameter::Overlap shard_overlap(const FlatParameter& parameter, size_t entry, int rank) {
    const int64_t n = parameter.shard_numel();
    return parameter.overlap(parameter.entries()[entry], rank * n, (rank + 1) * n);
  }
  /// Over slices of all units, in their order. Its state is offloaded, if anything is.
  void make_optimizer_over(const OptimizerConfig& config, std::vector<ParamSlice> slices);
  /// A copy of what only the optimizer needs: where that is offloaded to, if it is.
  Tensor rarely_used(const Tensor& tensor, Category category);
  /// What the optimizer reads in place of `gradient`, which stays where it is: itself; or, offloaded to the host, a copy there.
  Tensor seen_by_optimizer(const Tensor& gradient);
  void run_optimizer(double lr);
  Optimizer& optimizer() const { return *optimizer_; }
  void add_frozen(SquareSum& sum) const;
  /// Frozen parameters and buffers, which every rank holds whole.
  int64_t fixed_bytes() const;
  static int64_t padding_bytes(const Unit& unit) {
    return (unit.parameter.padded_numel() - unit.parameter.numel()) * static_cast<int64_t>(size_of(unit.parameter.dtype()));
  }
  /// Of a strategy whose ranks compute with one unit that is always whole.
  MemoryFormula whole_model_formula(int64_t optimizer_bytes) const;
  /// Fills in what of it is offloaded: the optimizer's state and `parameters`; and the gradients that the host has copies of.
  void add_offloaded(MemoryFormula& formula, int64_t parameters) const;
  /// Of the reduction of `elements` of gradients in `group`, while so many of them travel, and of gathering what it has scattered.
  void add_communication(MemoryFormula& formula, const Communicator& group, Operation operation, int64_t elements,
                         int64_t travelling) const;
  /// Micro-batches, or rounds of them, of the longest step so far.
  int64_t most_rounds() const { return most_rounds_; }

 private:
  // A micro-batch, in this order. `reduces`: its gradients, with those that wait, are to be summed over ranks.
  virtual void begin_micro_batch(bool reduces) = 0;
  virtual void begin_backward() {}
  virtual void end_micro_batch(bool reduces) = 0;
  /// In place of forward and backward, on a rank that has no micro-batch left while others have.
  virtual void idle_forward() {}
  virtual void idle_backward() {}
  /// Around a forward pass without gradients.
  virtual void begin_evaluation() {}
  virtual void end_evaluation() {}
  /// Whether ranks communicate in micro-batches that only accumulate, so that all must have equally many.
  virtual bool in_rounds() const { return options_.reduce_every_micro_batch; }
  /// Waits for what is under way: Σ over ranks is there, whole, or this rank's shards of it at least.
  virtual void finish_reduction() {}
  /// The step is over, or dropped.
  virtual void forget_reduction() {}

  /// Of the reduced gradient: pieces that together, over all ranks, hold each logical element once.
  virtual std::vector<Tensor> gradient_shards() const = 0;
  /// The part of it that is reduced and will be used by this rank.
  virtual std::vector<Tensor> used_gradients() const = 0;
  /// (all) One optimizer update, and equal parameters everywhere afterwards.
  virtual void update(double lr) = 0;
  /// This rank's range of a unit's parameters in full precision.
  virtual Tensor master_shard(size_t unit) const = 0;
  /// State `kind` of the optimizer's `slice`, an entry of a unit, as far as it lies in this rank's shard: `mine` of the entry.
  virtual Tensor optimizer_state_shard(size_t kind, size_t slice, const FlatParameter::Overlap& mine) const = 0;
  /// Whether this rank's shards are in `state()`: others may have the same.
  virtual bool saves() const { return true; }
  /// Whether an update overwrites what this rank computed with, so that a difference between ranks is gone after it.
  virtual bool overwrites_replicas() const { return false; }
  /// (all) Shards of the state have been overwritten: copies of them elsewhere follow.
  virtual void spread_state() = 0;
  /// (all) The parameters of a unit become whole, for reading; or go back to what they were.
  virtual void unshard(size_t /*unit*/) {}
  virtual void reshard(size_t /*unit*/) {}
  void make_whole(bool whole) override;

  /// A frozen parameter or a buffer: held whole by every rank, saved by its owner.
  struct Fixed {
    std::string name;
    std::string kind;
    Tensor tensor;
    int owner;
  };
  std::vector<Fixed> fixed_tensors() const;
  bool another_round(bool more);
  void look_for_drift();
  void check_places() const;
  void check_not_summoned(const char* verb) const;
  Tensor on_device(const Tensor& batch) const;
  void run_micro_batch(bool more, const std::function<void()>& pass);
  TokenLoss forward_and_backward(Tensor tokens, Tensor targets);
  /// visit(unit, entry, slice of the optimizer)
  template <typename Visit>
  void for_each_entry(Visit&& visit) const {
    size_t slice = 0;
    for (size_t u = 0; u < units_.size(); ++u) {
      const FlatParameter& parameter = units_[u]->parameter;
      for (size_t e = 0; e < parameter.entries().size(); ++e) {
        visit(u, e, slice++);
      }
      slice += parameter.padding_in(cut_.mine) > 0 ? 1 : 0;
    }
  }

  enum class Phase : uint8_t { Accumulating, Synced, Finished };

  LossFunction loss_;
  Communicator& comm_;
  ParallelOptions options_;
  std::vector<NamedParameter> parameters_;
  std::vector<NamedParameter> frozen_;  // of them
  std::shared_ptr<Allocator> offload_;  // null: nothing is offloaded
  struct HostCopy {
    Tensor on_device, on_host;
  };
  std::vector<HostCopy> gradients_on_host_;  // none, unless offloaded from a GPU
  std::vector<NamedBuffer> buffers_;
  Cut cut_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<RecordedPasses> recorded_;  // null: nothing is recorded
  std::optional<uint64_t> last_hash_;         // of the parameters as they are, if anyone has asked since they became so
  bool drifted_ = false;                      // they were others when the next update came
  int64_t parameter_count_ = 0;
  int64_t rounds_ = 0;  // of this step
  int64_t most_rounds_ = 0;
  Phase phase_ = Phase::Accumulating;
  StepResult result_;
  int64_t steps_ = 0;     // that have ended, whether by step or by skip
  double last_lr_ = 0.0;  // of the last update
  int summoned_ = 0;      // how many Summoned live
};

}  // namespace ringlet
