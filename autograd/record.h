// How an op enters the graph: its output, its inputs, and the rule that knows how to go back.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "autograd/grad_mode.h"
#include "autograd/node.h"
#include "autograd/saved.h"
#include "autograd/variable.h"

namespace ringlet {

/// A backward rule is a struct whose fields are the saved tensors (`Saved`), with
///   static constexpr std::string_view kName = "layer_norm";
///   Grads backward(const Tensor& dy) const;      // one gradient per input, in input order
template <typename Rule>
class RuleNode final : public Node {
 public:
  RuleNode(const Tensor& output, Rule rule) : Node(output.shape(), output.dtype()), rule_(std::move(rule)) {}

  std::string_view name() const override { return Rule::kName; }
  Grads backward(const Tensor& dy) override {
    check(rule_.has_value(),
          "backward: the graph was already freed at {}; run forward again, or pass keep_graph to the first backward", name());
    return rule_->backward(dy);
  }
  void release() override { rule_.reset(); }

 private:
  std::optional<Rule> rule_;
};

/// `tensor` if `input` wants the gradient that it is saved for, else nothing.
inline Saved saved_for(const Var& input, const Tensor& tensor) { return input.requires_grad() ? Saved(tensor) : Saved(); }

// [snippet: record]
/// The output as a variable. It is recorded only if gradients are enabled and an input wants one; otherwise the rule, and with
/// it everything saved, is dropped here.
template <typename Rule>
Var record(Tensor output, std::span<const Var> inputs, Rule rule) {
  bool wanted = false;
  for (const Var& input : inputs) {
    wanted = wanted || input.requires_grad();
  }
  if (!wanted || !grad_enabled()) {
    return Var(std::move(output));
  }
  auto node = std::make_shared<RuleNode<Rule>>(output, std::move(rule));
  node->inputs.reserve(inputs.size());
  for (const Var& input : inputs) {
    node->inputs.push_back(input.defined() ? input.node() : nullptr);
  }
  return Var::recorded(std::move(output), std::move(node));
}
// [/snippet]

template <typename Rule>
Var record(Tensor output, std::initializer_list<Var> inputs, Rule rule) {
  return record(std::move(output), std::span<const Var>(inputs.begin(), inputs.size()), std::move(rule));
}

}  // namespace ringlet
