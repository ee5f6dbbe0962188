// What every program's main does: read flags, start ranks, run, and turn whatever goes wrong into one message and an exit code.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "apps/training/communication_config.h"
#include "collectives/communicator.h"
#include "collectives/recorded.h"

namespace ringlet {

/// What the command line asks of the machinery around the program.
struct Request {
  int64_t ranks = 0;  // --np; 0: not given
  std::string backend = "mpi";
  std::string transport = "mpi";
  std::string device = "cpu";  // where its ranks compute (rank_device.h)
  bool tf32 = false;           // Gpu::allow_tf32
  CommunicationConfig communication{};
  std::optional<std::string> text{};  // to be printed instead of running: --help
};

struct Program {
  std::string name;
  std::function<Request(int argc, char** argv)> parse;  // throws UsageError
  /// Returns the exit code. `world` writes into `recorder`, which has a ledger and a timeline where the request wants them.
  std::function<int(Communicator& world, const Recorder& recorder)> run;
};

/// Started plainly with --np N > 1, becomes the launcher of N ranks. Otherwise the ranks of the job (one, when mpirun did not start it)
/// call `run`.
/// · What all ranks know to be wrong (usage, AgreedFailure, CheckpointError) is said by rank 0, and all end in good order.
/// · Any other exception ends the whole job: the rank says what it was, and aborts the others. Rank 0 speaks at once, other
///   ranks two seconds later: if rank 0 met the same, its message is the only one.
/// · A failure of communication leaves the last calls of the ranks behind, as files that the message names; a start that not all ranks
///   take part in ends at the deadline.
/// · No process outlives its parent.
int run_main(const Program& program, int argc, char** argv);

}  // namespace ringlet
