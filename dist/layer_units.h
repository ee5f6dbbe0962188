// Which parameters are sharded together: the units of FSDP.
#pragma once

#include <vector>

#include "nn/module.h"

namespace ringlet {

/// The trainable parameters of each of `module.layers()` that no other layer and nothing outside of the layers has under any name,
/// tied names included; then those of the root, all others. Layers without any such parameter are left out, and so is the root.
struct LayerUnits {
  explicit LayerUnits(Module& module);

  std::vector<std::vector<NamedParameter>> parameters;  // per unit
  std::vector<std::vector<Module*>> layers;             // per unit but the root
  bool has_root() const { return parameters.size() > layers.size(); }
};

}  // namespace ringlet
