// Before ranks exchange parameters by position, they make sure that a position means the same everywhere. Equal sizes in
// another order would be swapped without any error.
#pragma once

#include "collectives/communicator.h"
#include "nn/module.h"

namespace ringlet {

/// Called by every rank. Throws `Error` on every rank, naming the first difference, unless all ranks have the same parameters
/// and buffers: names, order, shapes, dtypes, which are tied and which are frozen. One all_reduce of 16 bytes when they agree.
void check_same_module(Communicator& comm, const Module& module);

}  // namespace ringlet
