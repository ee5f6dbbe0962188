// The CPU backend: the ranks that mpirun started, one process each.
#pragma once

#include <memory>

#include "collectives/backends/p2p.h"
#include "collectives/communicator.h"
#include "collectives/transports/mpi_point_to_point.h"
#include "collectives/transports/mpi_session.h"  // IWYU pragma: export: MpiSession, abort_world, place_on_host

namespace ringlet {

/// All ranks of the job over MPI messages. Hold an `MpiSession` in main before; without one the world starts MPI and finishes
/// it with its last communicator.
std::unique_ptr<Communicator> make_mpi_world(MpiOptions options = {}, Algorithms algorithms = {});

}  // namespace ringlet
