// Reverse mode (Linnainmaa, 1970; Speelpenning, 1980): visit every node once, after all its consumers, and hand on
// ∂L/∂input = Σ over consumers of (∂consumer/∂input)ᵀ·∂L/∂consumer.
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "autograd/grad_mode.h"
#include "autograd/variable.h"
#include "tensor/ops/arithmetic.h"

namespace ringlet {

// One walk. All of its state lives here, so a walk that ends in an exception leaves nothing behind in the graph; and what a walk
// inside a rule or hook of this one moves (activation checkpointing), it moves back at its end.
class Engine {
 public:
  Engine(const std::shared_ptr<Node>& root, bool keep_graph) : run_(next_run()), keep_graph_(keep_graph) {
    count_consumers(root);
  }
  ~Engine() {
    for (const State& state : states_) {
      state.node->slot_ = state.outer_slot;
    }
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void run(const std::shared_ptr<Node>& root, const Tensor& seed) {
    states_[0].dy = seed;
    std::vector<Node*> ready = {root.get()};
    while (!ready.empty()) {
      Node* node = ready.back();
      ready.pop_back();
      hand_on(node, visit(node), ready);
    }
  }

 private:
  struct State {
    std::shared_ptr<Node> node;  // keeps the node alive while the walk frees the graph behind itself
    Tensor dy = {};              // the sum of the contributions so far
    int32_t waiting = 0;         // consumers that have not contributed yet
    bool own = false;            // whether dy is ours to add to, or was handed over by a rule that may still use it
    int32_t outer_slot = 0;      // the node's place in the table of a walk that this one runs inside of
  };

  static uint64_t next_run() {
    static std::atomic<uint64_t> runs{0};  // a number to mark nodes with; no walk reads another's
    return ++runs;
  }

  State& state(const Node* node) { return states_[static_cast<size_t>(node->slot_)]; }

  void discover(const std::shared_ptr<Node>& node, std::vector<Node*>& open) {
    if (node->run_ != run_) {
      states_.push_back({.node = node, .outer_slot = node->slot_});
      node->run_ = run_;
      node->slot_ = static_cast<int32_t>(states_.size() - 1);
      open.push_back(node.get());
    }
  }

  void count_consumers(const std::shared_ptr<Node>& root) {
    std::vector<Node*> open;
    discover(root, open);
    while (!open.empty()) {
      Node* node = open.back();
      open.pop_back();
      for (const std::shared_ptr<Node>& input : node->inputs) {
        if (input != nullptr) {
          discover(input, open);
          ++state(input.get()).waiting;
        }
      }
    }
  }

  Grads visit(Node* node) {
    const Tensor dy = std::exchange(state(node).dy, {});
    // Every path to an op may have carried no contribution: then there is nothing to hand on, but its inputs still count, and a
    // leaf is ready all the same.
    const bool is_leaf = node->inputs.empty();
    Grads grads = dy.defined() || is_leaf ? node->backward(dy) : Grads(node->inputs.size());
    if (!keep_graph_) {
      node->release();
    }
    check(grads.size() == node->inputs.size(), "backward: {} gave {} gradients for {} inputs", node->name(), grads.size(),
          node->inputs.size());
    return grads;
  }

  // [snippet: hand_on]
  void hand_on(Node* node, Grads grads, std::vector<Node*>& ready) {
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      Node* input = node->inputs[i].get();
      if (input == nullptr) {
        continue;
      }
      if (grads[i].defined()) {
        accumulate(node, input, std::move(grads[i]));
      }
      if (--state(input).waiting == 0) {
        ready.push_back(input);
      }
    }
  }
  // [/snippet]

  void accumulate(const Node* from, const Node* input, Tensor dx) {
    check(dx.shape() == input->shape() && dx.dtype() == input->dtype(), "backward: {} gave a gradient {} {} for an input {} {}",
          from->name(), dx.shape(), dx.dtype(), input->shape(), input->dtype());
    State& sum = state(input);
    if (!sum.dy.defined()) {
      sum.dy = std::move(dx);
    } else if (!sum.own) {  // the first contribution may be shared with another edge: add out of place once
      sum.dy = sum.dy + dx;
      sum.own = true;
    } else {
      add_into(sum.dy, dx);
    }
  }

  uint64_t run_;
  bool keep_graph_;
  std::vector<State> states_;
};

namespace {

Tensor ones_like(const Tensor& x) {
  Tensor ones = Tensor::empty(x.device(), x.shape(), x.dtype());
  ones.fill(1.0);
  return ones;
}

}  // namespace

void backward(const Var& root, const Tensor& seed, bool keep_graph) {
  check(root.requires_grad(),
        "backward: the root does not require a gradient (made from no variable that does, or under NoGrad)");
  check(seed.defined() || root.numel() == 1, "backward: the root must have one element, or a seed must be given; got shape {}",
        root.shape());
  if (seed.defined()) {
    check_shape("backward: seed", seed, root.shape());
    check_dtype("backward: seed", seed, root.dtype());
  }
  const NoGrad no_grad;
  Engine engine(root.node(), keep_graph);
  engine.run(root.node(), seed.defined() ? seed : ones_like(root.data()));
}

}  // namespace ringlet
