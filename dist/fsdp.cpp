#include "dist/fsdp.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "collectives/control_scope.h"
#include "dist/collective_ops.h"

namespace ringlet {

struct Fsdp::Layout {
  Layout(Kind kind, Module& module, Communicator& comm, const ParallelOptions& options) : units(module) {
    if (kind == Kind::Hsdp) {
      const int ranks = comm.size();
      const int shards = ranks_per_copy(options, ranks);
      check(options.shard_ranks >= 0 && ranks % shards == 0,
            "hsdp: the ranks that share one copy must divide all ranks, got {} of {}",
            options.shard_ranks < 0 ? options.shard_ranks : shards, ranks);
      mesh = std::make_unique<Mesh>(comm, std::vector<Mesh::Axis>{{"replicate", ranks / shards}, {"shard", shards}});
      cut = {shards, mesh->coordinate("shard")};
    } else {
      cut = {comm.size(), comm.rank()};
    }
  }
  LayerUnits units;
  std::unique_ptr<Mesh> mesh;
  Cut cut;
};

Fsdp::Fsdp(Kind kind, Module& module, LossFunction loss, Communicator& comm, const OptimizerConfig& config,
           const ParallelOptions& options)
    : Fsdp(kind, module, std::move(loss), comm, config, options, Layout(kind, module, comm, options)) {}

Fsdp::Fsdp(Kind kind, Module& module, LossFunction loss, Communicator& comm, const OptimizerConfig& config,
           const ParallelOptions& options, Layout layout)
    : DataParallel(module, std::move(loss), comm, layout.cut, config, options),
      kind_(kind),
      mesh_(std::move(layout.mesh)),
      has_root_(layout.units.has_root()),
      sending_(layout.units.parameters.size()),
      self_(std::make_shared<Fsdp*>(this)) {
  std::vector<ParamSlice> slices;
  for (const std::vector<NamedParameter>& parameters : layout.units.parameters) {
    build_unit(parameters, slices);
  }
  make_optimizer_over(config, std::move(slices));
  plan_ = LayerPlan(
      {.layers = layers(),
       .root = has_root_,
       .gathers = shards_parameters(),
       .gathers_again = options.reshard_after_forward,
       .prefetch = options.prefetch},
      [this](size_t unit) { gather(unit); }, [this](size_t unit) { leave(unit); });
  add_hooks(layout.units.layers);
}

void Fsdp::build_unit(const std::vector<NamedParameter>& parameters, std::vector<ParamSlice>& slices) {
  Unit& unit = add_unit(parameters);
  Tensor& whole = unit.parameter.data();
  const Category category = shards_parameters() ? Category::Parameters : Category::Optimizer;
  Piece piece{.parameters = rarely_used(my_shard(unit, whole), category),
              .gradient = ShardSum(whole.device(), unit.parameter.shard_numel(), whole.dtype())};
  const Tensor gradient = seen_by_optimizer(piece.gradient.sum());
  for (ParamSlice& slice : unit.parameter.slices(piece.parameters, gradient, shard_begin(unit))) {
    slices.push_back(std::move(slice));
  }
  if (shards_parameters()) {
    whole.release_storage();
  }
  pieces_.push_back(std::move(piece));
}

std::vector<Tensor> Fsdp::used_gradients() const {
  std::vector<Tensor> shards;
  for (const Piece& piece : pieces_) {
    shards.push_back(piece.gradient.sum());
  }
  return shards;
}

std::vector<Tensor> Fsdp::gradient_shards() const { return saves() ? used_gradients() : std::vector<Tensor>(); }

void Fsdp::update(double lr) {
  run_optimizer(lr);
  spread_parameters();
}

// Stage 2 gathers at once. Stage 3 will, when the unit is used.
void Fsdp::spread_parameters() {
  for (size_t u = 0; u < units().size(); ++u) {
    Piece& piece = pieces_[u];
    piece.stale = shards_parameters();
    if (!shards_parameters()) {
      const Buffer whole = buffer_of(units()[u]->parameter.data());
      comm().all_gather(shard_for(whole, u), whole);
    }
  }
}

// What the first replica has loaded, the others copy.
void Fsdp::spread_state() {
  if (mesh_ != nullptr) {
    Communicator& replicas = mesh_->along("replicate");
    for (const Piece& piece : pieces_) {
      broadcast(replicas, piece.parameters, 0);
    }
    for (size_t kind = 0; kind < optimizer().state_kinds().size(); ++kind) {
      for (size_t slice = 0; slice < optimizer().slices().size(); ++slice) {
        broadcast(replicas, optimizer().state(kind, slice), 0);
      }
    }
  }
  spread_parameters();
}

double Fsdp::parameter_norm() {
  SquareSum mine;
  if (saves()) {
    for (const Piece& piece : pieces_) {
      mine.add(piece.parameters);
    }
  }
  const ControlScope control(comm());
  std::array<double, SquareSum::kWords> words = mine.words();
  comm().all_reduce(words, ReduceOp::Sum);
  SquareSum sum = SquareSum::from_words(words);
  add_frozen(sum);
  return sum.norm();
}

MemoryFormula Fsdp::memory_formula() const {
  MemoryFormula formula{.parameters = fixed_bytes()};
  int64_t whole = 0, shards = 0, largest = 0;
  for (size_t u = 0; u < units().size(); ++u) {
    whole += unit_bytes(u);
    shards += pieces_[u].parameters.bytes();
    formula.padding += padding_bytes(*units()[u]);
    formula.gradients += pieces_[u].gradient.bytes();
    largest = std::max(largest, units()[u]->parameter.shard_numel());
  }
  const auto kinds = static_cast<int64_t>(optimizer().state_kinds().size());
  formula.optimizer = (kinds + (shards_parameters() ? 0 : 1)) * shards;
  formula.parameters += shards_parameters() ? shards : whole;
  formula.parameters_peak = formula.parameters;
  formula.parameters_built = parameters_built();
  if (shards_parameters()) {
    const int64_t root = has_root_ ? unit_bytes(layers()) : 0;
    formula.parameters_peak += options().reshard_after_forward ? root + layers_in_flight(options().prefetch) : whole;
  }
  formula.gradients_peak = formula.gradients + whole_gradients_peak();
  add_offloaded(formula, shards_parameters() ? shards : 0);
  const Communicator& shards_of = mesh_ == nullptr ? comm() : mesh_->along("shard");
  add_communication(formula, shards_of, Operation::ReduceScatter, largest * cut().shards, largest * cut().shards + largest);
  if (mesh_ != nullptr) {
    add_communication(formula, mesh_->along("replicate"), Operation::AllReduce, largest, largest);
  }
  return formula;
}

// While units are built: a whole one, and the shards of those before it and of its own.
int64_t Fsdp::parameters_built() const {
  int64_t kept = fixed_bytes(), most = kept;
  for (size_t u = 0; u < units().size(); ++u) {
    kept += shards_parameters() ? pieces_[u].parameters.bytes() : unit_bytes(u);
    most = std::max(most, kept + (shards_parameters() ? unit_bytes(u) : 0));
  }
  return most;
}

// Bytes of the layers that are whole at a time: one, or it and its neighbour.
int64_t Fsdp::layers_in_flight(bool two) const {
  int64_t most = 0;
  for (size_t i = 0; i < layers(); ++i) {
    most = std::max(most, unit_bytes(i) + (two && i > 0 ? unit_bytes(i - 1) : 0));
  }
  return most;
}

// Whole gradients, at the peak of a step of k micro-batches. `waiting` flat tensors, 1 + ⌊log2 (k−1)⌋, are there when the last
// micro-batch begins; when k is a power of two that one needs another, until its unit has left. Units above i have left when i does.
int64_t Fsdp::whole_gradients_peak() const {
  const int64_t k = options().reduce_every_micro_batch ? 1 : std::max<int64_t>(most_rounds(), 1);
  const auto waiting = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(k - 1)));
  const int64_t another = std::has_single_bit(static_cast<uint64_t>(k)) ? 1 : 0;
  int64_t held = has_root_ ? (waiting + another) * unit_bytes(layers()) : 0;
  int64_t most = held;
  for (size_t i = 0; i < layers(); ++i) {
    held += waiting * unit_bytes(i);
    most = std::max(most, held + another * (unit_bytes(i) + (options().overlap && i > 0 ? unit_bytes(i - 1) : 0)));
  }
  return most;
}

}  // namespace ringlet
