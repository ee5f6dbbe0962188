#include "dist/layer_units.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

namespace ringlet {

LayerUnits::LayerUnits(Module& module) {
  const std::vector<std::vector<Module*>> all = module.layers();
  const size_t root = all.size();
  std::map<std::string, size_t> layer_at;  // by the path of a module
  for (const auto& [path, part] : module.modules()) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (std::find(all[i].begin(), all[i].end(), part) != all[i].end()) {
        layer_at[path + "."] = i;
      }
    }
  }
  const auto layer_of = [&](const std::string& name) {
    for (const auto& [path, layer] : layer_at) {
      if (name.starts_with(path)) {
        return layer;
      }
    }
    return root;
  };
  std::map<std::string, size_t> unit_of;
  for (const NamedParameter& parameter : module.parameters()) {
    unit_of[parameter.name] = layer_of(parameter.name);
  }
  for (const auto& [alias, name] : module.tied_names()) {
    size_t& unit = unit_of.at(name);
    unit = layer_of(alias) == unit ? unit : root;
  }
  for (size_t i = 0; i <= root; ++i) {
    std::vector<NamedParameter> group;
    for (const NamedParameter& parameter : module.parameters()) {
      if (parameter.var.requires_grad() && unit_of.at(parameter.name) == i) {
        group.push_back(parameter);
      }
    }
    if (!group.empty()) {
      parameters.push_back(std::move(group));
      if (i < root) {
        layers.push_back(all[i]);
      }
    }
  }
}

}  // namespace ringlet
