// Where a program gets its world from.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "collectives/algorithms/select.h"
#include "collectives/communicator.h"

namespace ringlet {

/// The environment variable RINGLET_COMM_TIMEOUT in seconds (fractions too), else 60 s. Another text is an `Error`.
std::chrono::milliseconds default_deadline();

struct WorldOptions {
  /// The longest wait for a peer before a CommError.
  std::chrono::milliseconds deadline = default_deadline();
  /// Of the backend mpi: "shm" (shared memory, all ranks on one host), "mpi" (messages), or "auto": shm where it
  /// can be, and over several hosts messages between and shared memory inside where hosts are even (algorithms/hierarchical.h).
  std::string transport = "auto";
  /// Bytes per rank of shared memory for buffers (Communicator::arena), where the transport has any.
  size_t arena_bytes = 0;
  /// Of messages: which algorithms carry the collectives. Shared memory has forms of its own, in order T: with an algorithm
  /// by name "auto" means messages, and "shm" is an `Error`.
  Algorithms algorithms{};
  /// Of the backend mpi: Cuda takes device memory too, by way of the host (backends/staged.h). Ranks may share a GPU.
  Device::Kind device = Device::Kind::Cpu;
};

/// All ranks that were started together, over the backend `name`:
///   "local"   this process alone, one rank
///   "mpi"     the ranks that mpirun started (one, when it did not). Starts MPI unless an `MpiSession` (backends/mpi.h) lives
///   "nccl"    the same, each with a GPU of its own: device memory goes by NCCL, host memory as with "mpi" (backends/nccl.h). Throws
///             BackendUnavailable, on all ranks, where there is no NCCL, no GPU, or a host has fewer GPUs than ranks
/// Any other name is an `Error` that lists these.
std::unique_ptr<Communicator> make_world(std::string_view name, const WorldOptions& options = {});

}  // namespace ringlet
