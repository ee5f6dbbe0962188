#include "optim/param_group.h"

namespace ringlet {

std::vector<ParamGroup> decay_groups(double weight_decay) { return {{"decay", weight_decay}, {"no_decay", 0.0}}; }

ParamSlice slice_of(std::string name, Var var) {
  if (!var.grad().defined()) {
    var.set_grad(Tensor::zeros(var.data().device(), var.shape(), var.dtype(), Category::Gradients));
  }
  return {std::move(name), var.data(), var.grad(), decays(var.shape()) ? kDecayGroup : kNoDecayGroup};
}

}  // namespace ringlet
