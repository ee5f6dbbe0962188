// --info: what this program is and what it found.
#pragma once

#include <string>

#include "apps/training/threads.h"
#include "collectives/communicator.h"

namespace ringlet {

/// Build, CPU level, kernels, threads, MPI, transport, CUDA and why not.
std::string info_text(const Communicator& world, const ThreadChoice& threads);

}  // namespace ringlet
