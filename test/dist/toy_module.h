// Modules small enough to know every number by hand.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "collectives/communicator.h"
#include "dist/make_strategy.h"
#include "dist/strategy.h"
#include "nn/module.h"
#include "tensor/tensor.h"

namespace ringlet::test {

/// Parameters and buffers under names; the loss is a function of the test's.
class ToyModule : public Module {
 public:
  Var parameter(const std::string& name, Tensor initial) { return add_parameter(name, std::move(initial)); }
  Var parameter(const std::string& name, Var shared) { return add_parameter(name, std::move(shared)); }
  Var frozen(const std::string& name, Tensor initial) { return add_parameter(name, Var(std::move(initial), false)); }
  Tensor buffer(const std::string& name, Tensor initial) { return add_buffer(name, std::move(initial)); }
};

inline Tensor floats(const std::vector<float>& values) { return Tensor::from(values, {static_cast<int64_t>(values.size())}); }

inline const std::vector<std::string> kStrategies{"ddp", "zero1", "zero2", "fsdp", "hsdp"};

/// Plain SGD: w ← w − lr·g, so that a step shows the gradient.
inline OptimizerConfig sgd() { return {.name = "sgd"}; }

/// Writes `values` into this rank's contribution to the gradient of `var`, as if backward had computed them.
inline void add_gradient(Var var, const std::vector<float>& values) {
  Tensor grad = var.grad();
  const std::span<float> g = grad.mutable_span<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    g[i] += values[i];
  }
}

/// All elements of a parameter, which may be sharded. All ranks call it together.
inline std::vector<double> values_of(Strategy& parallel, const Var& parameter) {
  const auto whole = parallel.summon();
  return parameter.data().to_vector();
}

/// One row per rank, filled by the rank's own thread.
template <typename T>
std::vector<T> per_rank(int ranks) {
  return std::vector<T>(static_cast<size_t>(ranks));
}

}  // namespace ringlet::test
