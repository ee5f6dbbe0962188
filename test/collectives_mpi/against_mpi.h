// Every operation beside Open MPI's own call.
#pragma once

#include "collectives/communicator.h"
#include "test/support/report.h"

namespace ringlet::test {

/// Where the arithmetic is exact in any order, MPI's own answer is the same. `world` holds all ranks of the job.
void compare_with_mpi(Communicator& world, Report& report);

}  // namespace ringlet::test
