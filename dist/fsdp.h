// ZeRO stages 2 and 3 (Rajbhandari et al., SC 2020), the latter as FSDP (Zhao et al., VLDB 2023), and hybrid sharding. The model is
// cut into units, one per layer (Module::layers) and a root for what belongs to none; a unit is one flat parameter, padded to a
// multiple of the N ranks, and rank r owns its r-th piece: of the gradient in every stage, of the parameters in stage 3.
//
//          whole while it is used      a rank keeps                           bytes sent per step and rank, T = 4P
//   zero2  gradient                    4P + (4P master + 4P grad + 8P)/N      reduce_scatter, all_gather: 2(N−1)/N·T
//   fsdp   gradient, parameters        (4P + 4P grad + 8P)/N                  two all_gathers, reduce_scatter: (N−1)/N·(3T − K)
//   hsdp   fsdp among S of the N ranks; the N/S replicas all_reduce the shards of the gradient.
// and besides, while a layer computes: two units of what is whole, this layer's and its neighbour's that is on its way, and the root's.
// K: bytes of the last two layers and the root, with which forward ends and backward begins; they are gathered once.
//
// A unit's parameters come by all_gather before its forward and again before its backward, a layer ahead (prefetch); its gradient
// leaves by reduce_scatter when its backward is over, while the layer below computes (overlap). All of it is driven by module hooks
// and goes through one list (layer_plan.h). Layers must run in their order, each once per forward; what is shared between layers
// belongs to the root.
#pragma once

#include <string>
#include <vector>

#include "dist/data_parallel.h"
#include "dist/gradient_wire.h"
#include "dist/layer_plan.h"
#include "dist/layer_units.h"
#include "dist/mesh.h"
#include "dist/shard_sum.h"

namespace ringlet {

class Fsdp final : public DataParallel {
 public:
  enum class Kind : uint8_t { Zero2, Fsdp, Hsdp };

  Fsdp(Kind kind, Module& module, LossFunction loss, Communicator& comm, const OptimizerConfig& config,
       const ParallelOptions& options = {});

  std::string_view name() const override { return kind_ == Kind::Zero2 ? "zero2" : kind_ == Kind::Fsdp ? "fsdp" : "hsdp"; }
  MemoryFormula memory_formula() const override;
  double parameter_norm() override;

 private:
  struct Layout;  // units and ranks, before any of it is built
  Fsdp(Kind kind, Module& module, LossFunction loss, Communicator& comm, const OptimizerConfig& config,
       const ParallelOptions& options, Layout layout);

  /// (all) A unit is made whole and broadcast, this rank's shard of it is kept, and where parameters are sharded the rest is given back:
  /// so one unit is whole at a time. Its slices are added to the optimizer's.
  void build_unit(const std::vector<NamedParameter>& parameters, std::vector<ParamSlice>& slices);

  /// What a rank keeps of a unit, and what is under way.
  struct Piece {
    Tensor parameters;  // its shard: of the master copy in zero2, where the unit itself is whole; else the only one
    ShardSum gradient;
    Work gathering = {};
    SentGradient reducing = {};
    bool whole = false;  // the unit's parameters are here, or on their way
    int summoned = 0;    // how many want them to stay
    bool stale = false;  // the shard is newer than what was gathered last
    bool open = false;   // the gradient is whole and takes contributions
    bool left = false;   // it has been sent, in this micro-batch
    size_t waiting = 0;  // parameters whose gradient is not ready
  };

  void begin_micro_batch(bool reduces) override;
  void begin_backward() override;
  void end_micro_batch(bool reduces) override;
  void idle_forward() override;
  void idle_backward() override;
  void begin_evaluation() override;
  void end_evaluation() override;
  bool in_rounds() const override { return shards_parameters() || options().reduce_every_micro_batch; }
  void finish_reduction() override;
  void forget_reduction() override;
  std::vector<Tensor> gradient_shards() const override;
  std::vector<Tensor> used_gradients() const override;
  void update(double lr) override;
  Tensor master_shard(size_t unit) const override { return pieces_[unit].parameters; }
  Tensor optimizer_state_shard(size_t kind, size_t slice, const FlatParameter::Overlap&) const override {
    return optimizer().state(kind, slice);
  }
  bool saves() const override { return mesh_ == nullptr || mesh_->coordinate("replicate") == 0; }
  void spread_state() override;
  bool overwrites_replicas() const override { return !shards_parameters(); }
  void spread_parameters();
  void unshard(size_t unit) override;
  void reshard(size_t unit) override;

  // Events of a unit, by hooks.
  void add_hooks(const std::vector<std::vector<Module*>>& layers);
  void forward_begins(size_t unit);
  void forward_ends(size_t unit);
  void backward_begins(size_t unit);
  void gradient_ready(size_t unit, size_t entry);

  // Moves of a unit, by the plan.
  void gather(size_t unit);
  ConstBuffer shard_for(const Buffer& whole, size_t unit) const;
  void await(size_t unit);
  void give_back(size_t unit);
  void open_gradient(size_t unit);
  void leave(size_t unit);
  void finish_sending();
  void advance_complete();
  void begin_forward(bool backward_follows);

  bool shards_parameters() const { return kind_ != Kind::Zero2; }
  size_t layers() const { return units().size() - (has_root_ ? 1 : 0); }
  Communicator& shard_group() { return mesh_ == nullptr ? comm() : mesh_->along("shard"); }
  int64_t unit_bytes(size_t unit) const { return units()[unit]->parameter.data().bytes(); }
  int64_t parameters_built() const;
  int64_t layers_in_flight(bool two) const;
  int64_t whole_gradients_peak() const;

  Kind kind_;
  std::unique_ptr<Mesh> mesh_;  // hsdp
  bool has_root_;               // the last unit
  std::vector<Piece> pieces_;
  LayerPlan plan_;
  bool active_ = false;    // within a micro-batch or an evaluation
  bool training_ = false;  // the former
  bool reduces_ = false;
  size_t next_forward_ = 0;      // layers below it have had theirs
  size_t sending_;               // the unit whose gradient is under way, or units().size()
  std::shared_ptr<Fsdp*> self_;  // the hooks know it weakly
};

}  // namespace ringlet
