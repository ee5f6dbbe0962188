// The CPU backend: the ranks that mpirun started, one process each.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "collectives/backends/p2p.h"
#include "collectives/call_history.h"
#include "collectives/communicator.h"
#include "collectives/transports/mpi_point_to_point.h"
#include "collectives/transports/mpi_session.h"  // IWYU pragma: export: MpiSession, abort_world, place_on_host

namespace ringlet {

/// What carries the bytes: messages; windows of shared memory, which need all ranks on one host; or windows where they can be.
enum class MpiTransport : uint8_t { Auto, Messages, SharedMemory };
/// Of "auto", "mpi", "shm"; anything else is an `Error` that lists them.
MpiTransport mpi_transport_named(std::string_view name);

/// All ranks of the job over `transport`. Where MPI allows threads (mpi_allows_threads), what is started goes on while the rank
/// computes (asynchronous.h). An algorithm by name needs messages: Auto takes them then.
std::unique_ptr<Communicator> make_mpi_world(MpiTransport transport, MpiOptions options = {},
                                             const Algorithms& algorithms = {});

/// All ranks of the job over MPI messages. Hold an `MpiSession` in main before; without one the world starts MPI and finishes
/// it with its last communicator.
std::unique_ptr<Communicator> make_mpi_world(MpiOptions options = {}, Algorithms algorithms = {});

/// (all) The history of this rank of `world`, which holds all ranks of the job: in a window that all see where they are on one host.
std::shared_ptr<CallHistory> mpi_call_history(const Communicator& world);

}  // namespace ringlet
