// Strategies by name.
#pragma once

#include <memory>
#include <string_view>

#include "collectives/communicator.h"
#include "dist/optimizer_config.h"
#include "dist/parallel_options.h"
#include "dist/strategy.h"
#include "nn/module.h"

namespace ringlet {

/// "ddp", "zero1", "zero2", "fsdp" or "hsdp"; another name is an `Error` that lists them. Called by every rank: the parameters and
/// buffers of rank 0 become everybody's.
std::unique_ptr<Strategy> make_strategy(std::string_view name, Module& module, LossFunction loss, Communicator& comm,
                                        const OptimizerConfig& optimizer, const ParallelOptions& options = {});

/// The same for any model with `TokenLoss loss(tokens, targets)`: Gpt.
template <typename Model>
std::unique_ptr<Strategy> make_strategy(std::string_view name, Model& model, Communicator& comm,
                                        const OptimizerConfig& optimizer, const ParallelOptions& options = {}) {
  const auto loss = [&model](const Tensor& tokens, const Tensor& targets) { return model.loss(tokens, targets); };
  return make_strategy(name, model, loss, comm, optimizer, options);
}

}  // namespace ringlet
