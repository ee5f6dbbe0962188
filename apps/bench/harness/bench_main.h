// What the main of every benchmark does: reads flags, finds the device and the ranks, writes what was measured, and turns whatever
// goes wrong into one message and an exit code.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "apps/training/flags.h"
#include "collectives/communicator.h"
#include "collectives/factory.h"

namespace ringlet {

/// What the flags say that benchmarks share.
struct BenchSettings {
  std::string device = "cpu";
  std::string backend = "mpi";
  std::string transport = "auto";
  std::string json;  // a file; empty: none
  bool tf32 = false;

  bool on_gpu() const { return device == "cuda"; }
  /// (all) The ranks of the job, over --backend and --transport, for memory of the device too. Other options are the caller's.
  std::unique_ptr<Communicator> world(WorldOptions options = {}) const;
};

/// One process; the ranks of the job under mpirun; or ranks that it starts itself. The last two have --backend and --transport.
enum class BenchRanks { One, OfJob, Started };
enum class BenchDevices { Both, CpuAlone, GpuAlone };

struct BenchProgram {
  std::string name;
  std::string description;
  BenchRanks ranks = BenchRanks::One;
  bool multiplies = false;  // f32, on a GPU too: --tf32
  BenchDevices devices = BenchDevices::Both;
  std::string why_not_other{};          // one of the devices makes no sense, because …
  std::function<void(Flags&)> flags{};  // its own
  /// Throws an Error where the flags contradict each other.
  std::function<void(const BenchSettings&)> settle{};
  /// (all) Measures and prints. Returns the JSON for --json; of the ranks of a job, what rank 0 returns counts.
  /// Tensors of the calling thread lie on --device.
  std::function<std::string(const BenchSettings&)> run;
};

/// The exit code. What all ranks know (usage, no device, AgreedFailure) rank 0 says, and all end in good order; anything else ends
/// the job.
int bench_main(const BenchProgram& program, int argc, char** argv);

}  // namespace ringlet
