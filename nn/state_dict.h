// A model's state by name, and back.
#pragma once

#include <map>
#include <string>

#include "nn/module.h"

namespace ringlet {

using StateDict = std::map<std::string, Tensor>;

/// Parameters and buffers by name, sharing their memory: clone what shall outlive the next update. A tied variable stands once,
/// under its first name.
StateDict state_dict(const Module& model);

/// Copies `state` into the model's parameters and buffers. All or nothing: unless names, shapes and dtypes all agree, an `Error`
/// lists the first of each kind of disagreement (missing, unexpected, other shape, other dtype) and the model is untouched.
/// A further name of a tied variable may be given too, if it holds the same bits.
void load_state_dict(Module& model, const StateDict& state);

}  // namespace ringlet
