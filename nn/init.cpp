#include "nn/init.h"

#include <cmath>
#include <string>

#include "tensor/ops/random.h"

namespace ringlet {

void init_normal(Tensor& x, uint64_t seed, std::string_view name, double standard_deviation, uint64_t first) {
  fill_normal(x, RandomStream(seed, "init/" + std::string(name)), 0.0, standard_deviation, first);
}

void init_gpt2(Module& model, int64_t layers, uint64_t seed) {
  const double residual_scale = 1.0 / std::sqrt(2.0 * static_cast<double>(layers));
  for (const NamedParameter& parameter : model.parameters()) {
    if (parameter.var.rank() >= 2) {
      const bool ends_branch = parameter.name.ends_with("c_proj.weight");
      const double deviation = kInitStandardDeviation * (ends_branch ? residual_scale : 1.0);
      Tensor weight = parameter.var.data();
      weight.begin_with([seed, deviation, name = parameter.name](Tensor& flat) { init_normal(flat, seed, name, deviation); });
    }
  }
}

}  // namespace ringlet
