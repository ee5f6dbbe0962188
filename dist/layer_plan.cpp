#include "dist/layer_plan.h"

#include <algorithm>
#include <utility>

namespace ringlet {

// [snippet: plan]
LayerPlan::LayerPlan(const Shape& shape, Act gather, Act leave)
    : shape_(shape), gather_(std::move(gather)), leave_unit_(std::move(leave)) {
  const size_t m = shape.layers, units = m + (shape.root ? 1 : 0);
  for (std::vector<size_t>* places : {&forward_, &backward_, &leave_}) {
    places->assign(units, 0);
  }
  if (shape.gathers) {
    for (size_t i = 0; i < units; ++i) {
      add(true, (i + m) % units, forward_);  // the root first
    }
  }
  forward_length_ = moves_.size();
  const size_t ahead = shape.prefetch ? 1 : 0;
  kept_ = shape.gathers_again ? 1 + ahead : m;
  for (size_t i = m; i-- > 0;) {
    if (shape.gathers && i >= ahead && !keeps(i - ahead)) {
      add(true, i - ahead, backward_);
    }
    add(false, i, leave_);
  }
  if (shape.root) {
    add(false, m, leave_);
  }
}
// [/snippet]

void LayerPlan::add(bool gathers, size_t unit, std::vector<size_t>& places) {
  moves_.push_back({gathers, unit});
  places[unit] = moves_.size();
}

void LayerPlan::begin(bool backward) {
  with_backward_ = backward;
  done_ = 0;
}

void LayerPlan::go_on(const std::vector<size_t>& places, size_t unit, int next) {
  run_to(places[unit]);
  const size_t neighbour = unit + static_cast<size_t>(next);  // wraps below 0
  if (shape_.prefetch && unit < shape_.layers && neighbour < shape_.layers) {
    run_to(places[neighbour]);
  }
}

void LayerPlan::run_to(size_t place) {
  for (const size_t last = std::min(place, length()); done_ < last;) {
    const Move move = moves_[done_++];
    (move.gathers ? gather_ : leave_unit_)(move.unit);
  }
}

}  // namespace ringlet
