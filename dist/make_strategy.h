// Strategies by name.
#pragma once

#include <memory>
#include <string_view>

#include "collectives/communicator.h"
#include "dist/gradient_buckets.h"
#include "dist/optimizer_config.h"
#include "dist/strategy.h"
#include "nn/module.h"

namespace ringlet {

/// "ddp" or "zero1"; another name is an `Error` that lists them. Called by every rank: the parameters and buffers of rank 0
/// become everybody's. `buckets` are ddp's.
std::unique_ptr<Strategy> make_strategy(std::string_view name, Module& module, LossFunction loss, Communicator& comm,
                                        const OptimizerConfig& optimizer, const BucketSizes& buckets = {});

/// The same for any model with `TokenLoss loss(tokens, targets)`: Gpt.
template <typename Model>
std::unique_ptr<Strategy> make_strategy(std::string_view name, Model& model, Communicator& comm,
                                        const OptimizerConfig& optimizer, const BucketSizes& buckets = {}) {
  const auto loss = [&model](const Tensor& tokens, const Tensor& targets) { return model.loss(tokens, targets); };
  return make_strategy(name, model, loss, comm, optimizer, buckets);
}

}  // namespace ringlet
