// A rank's communicator of NCCL: nccl_group.h in terms of NCCL and the CUDA runtime.
#pragma once

#include <memory>

#include "collectives/nccl/nccl_group.h"

namespace ringlet {

/// NcclLibrary::join, on the calling thread's device.
std::unique_ptr<NcclGroup> join_group(const NcclId& id, int rank, int size, NcclWatch watch, const NcclGroup* whole);

}  // namespace ringlet
