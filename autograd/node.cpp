#include "autograd/node.h"

#include <atomic>
#include <utility>

#include "tensor/ops/arithmetic.h"

namespace ringlet {
namespace {
std::atomic<int64_t> live_nodes{0};
}  // namespace

Node::Node(Shape shape, DType dtype) : shape_(shape), dtype_(dtype) { live_nodes.fetch_add(1, std::memory_order_relaxed); }

// [snippet: destructor]
// Destruction of a long chain must not recurse once per node: what dies with this node is taken apart in a loop.
Node::~Node() {
  std::vector<std::shared_ptr<Node>> dying = std::move(inputs);
  while (!dying.empty()) {
    const std::shared_ptr<Node> node = std::move(dying.back());
    dying.pop_back();
    if (node != nullptr && node.use_count() == 1) {
      for (auto& input : node->inputs) {
        dying.push_back(std::move(input));
      }
      node->inputs.clear();
    }
  }
  live_nodes.fetch_sub(1, std::memory_order_relaxed);
}
// [/snippet]

int64_t Node::live() { return live_nodes.load(std::memory_order_relaxed); }

Grads Leaf::backward(const Tensor& dy) {
  if (dy.defined() && grad.defined()) {
    add_into(grad, dy);
  } else if (dy.defined()) {
    grad = dy.clone(Category::Gradients);
  }
  for (const auto& hook : on_ready) {
    hook();
  }
  return {};
}

}  // namespace ringlet
