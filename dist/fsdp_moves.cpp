// The part of Fsdp that acts while a model computes: hooks make events, events advance the plan, the plan moves units.
#include <algorithm>
#include <utility>

#include "collectives/control_scope.h"
#include "dist/collective_ops.h"
#include "dist/fsdp.h"
#include "tensor/base/gpu.h"

namespace ringlet {

void Fsdp::add_hooks(const std::vector<std::vector<Module*>>& modules) {
  const auto hook = [this](void (Fsdp::*event)(size_t), size_t unit) {
    return [event, unit, known = std::weak_ptr<Fsdp*>(self_)] {
      if (const std::shared_ptr<Fsdp*> self = known.lock(); self != nullptr && (*self)->active_) {
        ((*self)->*event)(unit);
      }
    };
  };
  for (size_t u = 0; u < modules.size(); ++u) {
    for (Module* module : modules[u]) {
      module->on_forward_begin(hook(&Fsdp::forward_begins, u));
      module->on_backward_begin(hook(&Fsdp::backward_begins, u));
    }
    modules[u].back()->on_forward_end(hook(&Fsdp::forward_ends, u));
  }
  for (size_t u = 0; u < units().size(); ++u) {
    const auto& entries = units()[u]->parameter.entries();
    for (size_t e = 0; e < entries.size(); ++e) {
      Var var = entries[e].var;
      var.on_gradient_ready([u, e, known = std::weak_ptr<Fsdp*>(self_)] {
        if (const std::shared_ptr<Fsdp*> self = known.lock(); self != nullptr && (*self)->training_) {
          (*self)->gradient_ready(u, e);
        }
      });
    }
  }
}

void Fsdp::begin_micro_batch(bool reduces) {
  active_ = training_ = true;
  reduces_ = reduces;
  for (size_t u = 0; u < units().size(); ++u) {
    pieces_[u].open = pieces_[u].left = false;
    pieces_[u].waiting = units()[u]->parameter.entries().size();
  }
  begin_forward(true);
}

// [snippet: events]
void Fsdp::forward_begins(size_t unit) {
  plan_.reach_forward(unit);
  await(unit);
  check(!shards_parameters() || (pieces_[unit].whole && unit >= next_forward_),
        "fsdp: layers must run in their order, each once per forward; got layer {} again or late", unit);
}

void Fsdp::forward_ends(size_t unit) {
  next_forward_ = unit + 1;
  if (!training_ || !plan_.keeps(unit)) {
    give_back(unit);
  }
}

void Fsdp::backward_begins(size_t unit) {
  plan_.reach_backward(unit);
  await(unit);
  open_gradient(unit);
}

// The last gradient of its unit: with it goes what is complete below the unit that left last.
void Fsdp::gradient_ready(size_t unit, size_t entry) {
  const FlatParameter::Entry& ready = units()[unit]->parameter.entries()[entry];
  Piece& piece = pieces_[unit];
  check(piece.open && !piece.left && piece.waiting > 0 && ready.var.grad().shares_storage(units()[unit]->gradient.term()),
        "fsdp: the gradient of {} became ready outside of its layer's backward; what is shared between layers must be "
        "registered by "
        "all of them",
        ready.name);
  if (--piece.waiting == 0) {
    advance_complete();
  }
}

void Fsdp::gather(size_t unit) {
  Piece& piece = pieces_[unit];
  if (piece.summoned > 0) {
    return;  // on every rank
  }
  Tensor& whole = units()[unit]->parameter.data();
  std::byte* bytes = whole.refill_storage(std::exchange(piece.stale, false));
  const Buffer there(bytes, whole.numel(), whole.dtype(), whole.device());
  piece.whole = true;
  piece.gathering = shard_group().start_all_gather(shard_for(there, unit), there);
}

void Fsdp::leave(size_t unit) {
  FlatGradient& gradient = units()[unit]->gradient;
  Piece& piece = pieces_[unit];
  open_gradient(unit);  // zeros, where this rank's graph left the unit out
  gradient.end_micro_batch();
  piece.open = false;
  piece.left = true;
  give_back(unit);
  if (!reduces_) {
    return;
  }
  gradient.finish();
  finish_sending();  // of the layer above: two whole gradients at most
  piece.reducing = send_reduce_scatter(shard_group(), gradient.sum(), piece.gradient.slot(), options().bf16_gradients);
  sending_ = unit;
  if (!options().overlap) {
    finish_sending();
  }
}

void Fsdp::finish_sending() {
  if (sending_ == units().size()) {
    return;
  }
  const size_t unit = std::exchange(sending_, units().size());
  Piece& piece = pieces_[unit];
  piece.reducing.wait();
  if (mesh_ != nullptr) {
    send_all_reduce(mesh_->along("replicate"), piece.gradient.slot(), options().bf16_gradients).wait();
  }
  piece.gradient.push();
  units()[unit]->gradient.release();
}
// [/snippet]

// This rank's shard for a gather into `whole`: from where it is; or, offloaded to the host, out of its own place in there.
ConstBuffer Fsdp::shard_for(const Buffer& whole, size_t unit) const {
  const Tensor& mine = pieces_[unit].parameters;
  if (mine.device() == whole.device) {
    return const_buffer_of(mine);
  }
  auto* place = static_cast<std::byte*>(whole.data) + cut().mine * mine.bytes();
  gpu().start_copy(place, mine.raw_data(), static_cast<size_t>(mine.bytes()));
  return {place, mine.numel(), mine.dtype(), whole.device};
}

// Units whose gradients are complete leave, as long as none before them in the plan is not.
void Fsdp::advance_complete() {
  for (size_t i = layers(); i-- > 0;) {
    if (pieces_[i].waiting > 0 && !pieces_[i].left) {
      return;
    }
    plan_.reach_leave(i);
  }
}

void Fsdp::open_gradient(size_t unit) {
  Piece& piece = pieces_[unit];
  if (training_ && !piece.open && !piece.left) {
    units()[unit]->gradient.begin_micro_batch();
    piece.open = true;
  }
}

void Fsdp::await(size_t unit) { pieces_[unit].gathering.wait(); }

void Fsdp::give_back(size_t unit) {
  Piece& piece = pieces_[unit];
  if (piece.whole && piece.summoned == 0) {
    await(unit);
    units()[unit]->parameter.data().release_storage();
    piece.whole = false;
  }
}

void Fsdp::begin_forward(bool backward_follows) {
  next_forward_ = 0;
  plan_.begin(backward_follows);
  if (has_root_) {
    plan_.reach_forward(layers());
    await(layers());
  }
}

void Fsdp::begin_backward() {
  if (has_root_) {
    open_gradient(layers());
  }
}

void Fsdp::end_micro_batch(bool /*reduces*/) {
  plan_.reach_end();
  finish_sending();
  active_ = training_ = false;
}

// A rank without a micro-batch goes through the same events, and holds as much meanwhile.
void Fsdp::idle_forward() {
  for (size_t i = 0; i < layers(); ++i) {
    forward_begins(i);
    forward_ends(i);
  }
}

void Fsdp::idle_backward() {
  for (size_t i = layers(); i-- > 0;) {
    backward_begins(i);
    plan_.reach_leave(i);
  }
}

void Fsdp::begin_evaluation() {
  active_ = true;
  begin_forward(false);
}

void Fsdp::end_evaluation() {
  plan_.reach_end();
  for (size_t u = 0; u < units().size(); ++u) {
    give_back(u);
  }
  active_ = false;
}

void Fsdp::unshard(size_t unit) {
  if (shards_parameters()) {
    const ControlScope control(shard_group());  // a proof's or a reader's, no part of a step
    gather(unit);
    await(unit);
    ++pieces_[unit].summoned;
  }
}

void Fsdp::reshard(size_t unit) {
  if (shards_parameters()) {
    --pieces_[unit].summoned;
    give_back(unit);
  }
}

void Fsdp::finish_reduction() {
  for (Piece& piece : pieces_) {
    piece.gradient.fold();
  }
}

// Also after an exception, wherever it came.
void Fsdp::forget_reduction() {
  active_ = training_ = false;
  sending_ = units().size();
  for (size_t u = 0; u < units().size(); ++u) {
    pieces_[u].reducing = {};
    pieces_[u].gradient.clear();
    units()[u]->gradient.release();
    give_back(u);
  }
}

}  // namespace ringlet
