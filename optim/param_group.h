// What an optimizer updates: slices of parameters, and the groups whose settings they share.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "autograd/variable.h"
#include "tensor/tensor.h"

namespace ringlet {

struct ParamGroup {
  std::string name;
  double weight_decay = 0.0;
};

/// A parameter with its gradient, or a piece of it: both contiguous, of one dtype (f32 or f64) and one number of elements. May be
/// a 1-D piece of a flat vector, may be empty. An optimizer never asks for more: updates are elementwise, and the bits of an
/// element's update do not depend on the slice that it stands in.
struct ParamSlice {
  std::string name;
  Tensor value;
  Tensor grad;
  int group = 0;
};

/// Weight decay is for what multiplies, embeddings included, not for gains and biases. The rule asks for the shape of the whole
/// parameter: once flattened, a matrix can no longer be told from a vector.
inline bool decays(const Shape& shape) { return shape.rank() >= 2; }

inline constexpr int kDecayGroup = 0;
inline constexpr int kNoDecayGroup = 1;
/// {"decay", weight_decay} and {"no_decay", 0}, in the order of the constants above.
std::vector<ParamGroup> decay_groups(double weight_decay);

/// The whole of a leaf variable as one slice, in the group that its shape says. A leaf without gradient gets one of zeros, so that
/// slice and variable share it.
ParamSlice slice_of(std::string name, Var var);

/// One slice per distinct variable of a range of {name, var}, such as `Module::parameters()`: one that stands in it twice is
/// taken once, under its first name; frozen ones are left out.
template <typename NamedVars>
std::vector<ParamSlice> slices_of(const NamedVars& named_vars) {
  std::vector<ParamSlice> slices;
  std::vector<Var> seen;
  for (const auto& named : named_vars) {
    bool is_new = named.var.requires_grad();
    for (const Var& other : seen) {
      is_new = is_new && !other.same_as(named.var);
    }
    if (is_new) {
      seen.push_back(named.var);
      slices.push_back(slice_of(named.name, named.var));
    }
  }
  return slices;
}

}  // namespace ringlet
