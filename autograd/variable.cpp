#include "autograd/variable.h"

#include <utility>

namespace ringlet {

Var::Var(Tensor data, bool requires_grad) : state_(std::make_shared<State>(State{std::move(data), nullptr})) {
  if (requires_grad) {
    set_requires_grad(true);
  }
}

Var Var::recorded(Tensor data, std::shared_ptr<Node> node) {
  Var made(std::move(data));
  made.state_->node = std::move(node);
  return made;
}

const Tensor& Var::data() const {
  check(defined(), "Var: undefined, it has no data");
  return state_->data;
}

const std::shared_ptr<Node>& Var::node() const {
  check(defined(), "Var: undefined, it has no node");
  return state_->node;
}

// The arguments of a check are evaluated also when it holds, so this must be safe to ask of any variable.
std::string_view Var::maker() const { return node() == nullptr ? "nothing" : node()->name(); }

bool Var::is_leaf() const { return node() == nullptr || dynamic_cast<const Leaf*>(node().get()) != nullptr; }

Leaf& Var::leaf(std::string_view who) const {
  auto* leaf = dynamic_cast<Leaf*>(node().get());
  check(leaf != nullptr, "Var::{}: only for leaves that require a gradient, got {}", who,
        node() == nullptr ? "one that requires none" : "the output of an op");
  return *leaf;
}

const Tensor& Var::grad() const { return leaf("grad").grad; }

void Var::set_grad(Tensor grad) {
  Leaf& owner = leaf("set_grad");
  if (grad.defined()) {
    check_shape("Var::set_grad: gradient", grad, shape());
    check_dtype("Var::set_grad: gradient", grad, dtype());
  }
  owner.grad = std::move(grad);
}

void Var::set_data(Tensor data) {
  check(is_leaf(), "Var::set_data: only for leaves, got the output of {}", maker());
  check_shape("Var::set_data: data", data, shape());
  check_dtype("Var::set_data: data", data, dtype());
  state_->data = std::move(data);
}

void Var::set_requires_grad(bool requires_grad) {
  check(is_leaf(), "Var::set_requires_grad: only for leaves, got the output of {}", maker());
  if (!requires_grad) {
    state_->node = nullptr;
  } else if (state_->node == nullptr) {
    check(dtype() == DType::F32 || dtype() == DType::F64, "Var: gradients exist for f32 and f64, got {}", dtype());
    state_->node = std::make_shared<Leaf>(shape(), dtype());
  }
}

void Var::on_gradient_ready(std::function<void()> hook) { leaf("on_gradient_ready").on_ready.push_back(std::move(hook)); }

}  // namespace ringlet
