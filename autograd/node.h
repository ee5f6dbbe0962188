// The graph that reverse mode walks. An op that is recorded becomes a node; its edges lead to the nodes that made its inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace ringlet {

/// ∂L/∂input, one per input in input order. An undefined tensor means: no contribution.
using Grads = std::vector<Tensor>;

/// One recorded op with one output. Edges point from outputs to inputs only, so there are no cycles of ownership.
class Node {
 public:
  Node(Shape shape, DType dtype);
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  virtual std::string_view name() const = 0;
  /// Given dy = ∂L/∂output, of the output's shape and dtype.
  virtual Grads backward(const Tensor& dy) = 0;
  /// Gives up what was saved for backward. A later backward is an error.
  virtual void release() = 0;

  const Shape& shape() const { return shape_; }  // of the output
  DType dtype() const { return dtype_; }

  /// One per input; null where no gradient is wanted.
  std::vector<std::shared_ptr<Node>> inputs;

  /// How many nodes of all threads are alive: an instrument for leak tests.
  static int64_t live();

 private:
  friend class Engine;
  Shape shape_;
  DType dtype_;
  uint64_t run_ = 0;  // the walk that found this node last,
  int32_t slot_ = 0;  // and its place in the table of the walk that goes on
};

/// A tensor made by the user that wants a gradient: the end of every path. Owns the gradient.
class Leaf final : public Node {
 public:
  using Node::Node;
  std::string_view name() const override { return "leaf"; }
  /// Adds `dy` to the gradient if it is defined, then calls the hooks.
  Grads backward(const Tensor& dy) override;
  void release() override {}

  Tensor grad;
  std::vector<std::function<void()>> on_ready;
};

}  // namespace ringlet
