#include "apps/training/phase_spans.h"

#include <string>
#include <utility>

#include "autograd/grad_mode.h"

namespace ringlet {

struct PhaseSpans::State {
  std::shared_ptr<Timeline> timeline{};
  std::string phase{};  // under way; empty: none
  int64_t begin = 0;
  int64_t last_gradient = 0;
  int64_t step_begin = 0;  // 0: between steps

  void change_to(const std::string& next) {
    const int64_t now = Timeline::now_ns();
    const bool backward_is_over = phase == "backward" && last_gradient > begin;
    if (!phase.empty()) {
      timeline->add({.name = phase, .begin_ns = begin, .end_ns = backward_is_over ? last_gradient : now});
    }
    phase = next;
    begin = now;
    if (step_begin == 0 && !next.empty() && next != "evaluate") {
      step_begin = now;
    }
  }
};

PhaseSpans::PhaseSpans(std::shared_ptr<Timeline> timeline, Module& model) {
  if (timeline == nullptr) {
    return;
  }
  state_ = std::make_shared<State>(State{.timeline = std::move(timeline)});
  const auto hook = [known = std::weak_ptr<State>(state_)](auto&& action) {
    return [known, action] {
      if (const auto state = known.lock()) {
        action(*state);
      }
    };
  };
  model.on_forward_begin(hook([](State& state) { state.change_to(grad_enabled() ? "forward" : "evaluate"); }));
  model.on_forward_end(hook([](State& state) { state.change_to(grad_enabled() ? "backward" : ""); }));
  for (NamedParameter& parameter : model.parameters()) {
    parameter.var.on_gradient_ready(hook([](State& state) { state.last_gradient = Timeline::now_ns(); }));
  }
}

void PhaseSpans::on_backward(int64_t, LossSum&) {
  if (state_ != nullptr) {
    state_->change_to("reduce and update");
  }
}

void PhaseSpans::end_step(int64_t step) {
  if (state_ != nullptr) {
    state_->change_to("");
    state_->timeline->add({.name = message("step {}", step), .begin_ns = state_->step_begin, .end_ns = Timeline::now_ns()});
    state_->step_begin = 0;
  }
}

}  // namespace ringlet
