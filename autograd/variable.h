// A tensor that knows how it was made: what users of autograd hold.
#pragma once

#include <functional>
#include <memory>

#include "autograd/node.h"
#include "tensor/tensor.h"

namespace ringlet {

/// A cheap shared handle: copies are the same variable. It is a leaf (made by the user), or the output of a recorded op.
class Var {
 public:
  /// Undefined.
  Var() = default;
  /// A leaf. With `requires_grad` (f32 and f64 only), backward() accumulates into `grad()`.
  explicit Var(Tensor data, bool requires_grad = false);

  bool defined() const { return state_ != nullptr; }
  const Tensor& data() const;
  const Shape& shape() const { return data().shape(); }
  int64_t dim(int i) const { return data().dim(i); }
  int rank() const { return data().rank(); }
  int64_t numel() const { return data().numel(); }
  DType dtype() const { return data().dtype(); }
  double item() const { return data().item(); }

  bool requires_grad() const { return defined() && state_->node != nullptr; }
  bool is_leaf() const;
  /// Two handles of one variable.
  bool same_as(const Var& other) const { return state_ == other.state_; }
  /// What is the same of two variables that are the same: a key for maps.
  const void* identity() const { return state_.get(); }

  // Leaves only; anything else is an Error.
  /// ∂L/∂this as accumulated since it was last cleared; undefined when nothing came.
  const Tensor& grad() const;
  /// Where backward() accumulates from now on: the tensor is added to, in place, so it can be a view of a flat buffer.
  void set_grad(Tensor grad);
  void clear_grad() { set_grad({}); }
  /// Points the variable at other memory of the same shape and dtype: a view of a flat parameter.
  void set_data(Tensor data);
  /// Freezes (false: gradient and hooks are dropped) or unfreezes.
  void set_requires_grad(bool requires_grad);
  /// `hook` runs once in every backward() that reaches this leaf, after the last contribution to its gradient. A hook that owns
  /// this variable would keep it alive for ever: let it know an index or a pointer.
  void on_gradient_ready(std::function<void()> hook);

  /// A leaf without gradient that shares the data.
  Var detach() const { return Var(data()); }

  // For autograd itself.
  static Var recorded(Tensor data, std::shared_ptr<Node> node);
  const std::shared_ptr<Node>& node() const;

 private:
  struct State {
    Tensor data;
    std::shared_ptr<Node> node;  // null: no gradient wanted
  };
  Leaf& leaf(std::string_view who) const;
  std::string_view maker() const;  // the name of the op whose output this is

  std::shared_ptr<State> state_;
};

/// Walks the graph from `root` to the leaves. `root` has one element, unless `seed` = ∂L/∂root is given.
/// Frees what was saved as it goes, unless `keep_graph`: then a second backward adds the same gradients exactly once more; without
/// it, a second backward is an `Error`.
void backward(const Var& root, const Tensor& seed = {}, bool keep_graph = false);

}  // namespace ringlet
