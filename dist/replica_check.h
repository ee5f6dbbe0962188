// Before ranks exchange parameters by position, they make sure that a position means the same everywhere. Equal sizes in
// another order would be swapped without any error.
#pragma once

#include "collectives/communicator.h"
#include "dist/optimizer_config.h"
#include "dist/parallel_options.h"
#include "nn/module.h"

namespace ringlet {

/// Called by every rank. Throws `Error` on every rank, naming the first difference, unless all ranks have the same parameters
/// and buffers: names, order, shapes, dtypes, which are tied and which are frozen. One all_reduce of 16 bytes when they agree.
void check_same_module(Communicator& comm, const Module& module);
/// The same of the options but for offloading, which is each rank's own affair, and of the optimizer: shards that are updated by
/// different rules make a model that nobody has asked for, and no replica to notice it by.
void check_same_options(Communicator& comm, const ParallelOptions& options);
void check_same_optimizer(Communicator& comm, const OptimizerConfig& config);
/// The same of what a step is called with: how many have ended before it, the norm to clip to, and the lr of the update before.
void check_same_step(Communicator& comm, int64_t steps, double max_norm, double last_lr);

}  // namespace ringlet
