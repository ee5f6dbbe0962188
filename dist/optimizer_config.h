// Which optimizer, as numbers: what a strategy needs to build one over its shard.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "optim/optimizer.h"

namespace ringlet {

struct OptimizerConfig {
  std::string name = "adamw";  // or "sgd"
  double beta1 = 0.9;          // adamw
  double beta2 = 0.999;
  double eps = 1e-8;
  double momentum = 0.0;      // sgd
  double weight_decay = 0.0;  // of the parameters that decay (optim/param_group.h)

  bool operator==(const OptimizerConfig&) const = default;
};

/// Over `slices`, whose groups are those of `decay_groups`. Throws `Error` for an unknown name or a number out of range.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, std::vector<ParamSlice> slices);

}  // namespace ringlet
