#include "dist/optimizer_config.h"

#include <utility>

#include "optim/adamw.h"
#include "optim/sgd.h"

namespace ringlet {

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, std::vector<ParamSlice> slices) {
  std::vector<ParamGroup> groups = decay_groups(config.weight_decay);
  if (config.name == "adamw") {
    const AdamWConfig adamw{.beta1 = config.beta1, .beta2 = config.beta2, .eps = config.eps};
    return std::make_unique<AdamW>(std::move(groups), std::move(slices), adamw);
  }
  if (config.name == "sgd") {
    return std::make_unique<Sgd>(std::move(groups), std::move(slices), SgdConfig{.momentum = config.momentum});
  }
  fail("optimizer: must be adamw or sgd, got {}", config.name);
}

}  // namespace ringlet
