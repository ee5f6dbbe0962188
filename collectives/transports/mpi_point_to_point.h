// MPI messages. MPI 3.1, on a communicator of our own, so that our messages never meet the user's.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "collectives/transports/point_to_point.h"

namespace ringlet {

struct MpiOptions {
  /// Longer messages go in pieces: MPI's counts are ints. Less than 2^31; tests set it to a few bytes.
  size_t max_message_bytes = size_t{1} << 30;
  /// Who waits longer for a peer throws a CommError that names it.
  std::chrono::milliseconds deadline = std::chrono::seconds(60);
  /// Bytes per rank of shared memory for buffers, on transports that share memory.
  size_t arena_bytes = 0;
  /// False only where a benchmark measures what comparing the ranks' calls costs: then a mismatch is a hang, or silent.
  bool compare_calls = true;
};

/// All ranks of the job. Starts MPI if need be. It may outlive MPI: freeing it then does nothing.
std::unique_ptr<PointToPoint> make_mpi_point_to_point(MpiOptions options = {});

}  // namespace ringlet
