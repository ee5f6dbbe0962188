// checkpoint_bench: how long training stands still for a save, on the spot and behind training. The state of a model of the given size
// is saved several times while a stand-in for training computes; run it under mpirun.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/bench/harness/bench_main.h"
#include "dist/checkpoint_save.h"

namespace ringlet {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

// Master, m and v, this rank's share.
std::vector<StatePiece> state_of(const Communicator& comm, int64_t parameters) {
  std::vector<StatePiece> pieces;
  const int64_t begin = parameters * comm.rank() / comm.size(), end = parameters * (comm.rank() + 1) / comm.size();
  for (const char* kind : {"master", "exp_avg", "exp_avg_sq"}) {
    pieces.push_back({"all", kind, {parameters}, begin, Tensor::full({end - begin}, 0.5)});
  }
  return pieces;
}

void compute_for(double milliseconds) {
  const Clock::time_point start = Clock::now();
  for (volatile double x = 1.0; ms_since(start) < milliseconds;) {
    x = std::sqrt(x + 1.0);
  }
}

struct Times {
  double stall_ms;  // the longest of all ranks, mean over saves
  double whole_ms;  // from the beginning of a save to its end
};

// Steps of `step_ms`, between which saves go on as they can.
Times measure(Communicator& comm, const std::string& dir, int64_t parameters, int64_t saves, double step_ms, bool behind) {
  const std::vector<StatePiece> state = state_of(comm, parameters);
  std::vector<std::byte> frozen;
  std::array<double, 2> sums = {0.0, 0.0};
  for (int64_t step = 0; step <= saves; ++step) {  // the first warms up
    comm.barrier();
    const Clock::time_point start = Clock::now();
    std::vector<PieceBytes> pieces = bytes_of(state);
    if (behind) {
      size_t total = 0, at = 0;
      for (const PieceBytes& piece : pieces) {
        total += piece.bytes.size();
      }
      frozen.resize(total);
      for (PieceBytes& piece : pieces) {
        std::memcpy(frozen.data() + at, piece.bytes.data(), piece.bytes.size());
        piece.bytes = std::span(frozen).subspan(at, piece.bytes.size());
        at += piece.bytes.size();
      }
    }
    CheckpointSave save(dir, step, pieces, {}, comm, {.keep = 1, .behind = behind});
    double stall = 0.0;
    if (!behind) {
      save.finish();
    }
    stall += ms_since(start);
    for (bool complete = !behind; !complete;) {
      compute_for(step_ms);
      comm.barrier();  // what a slower rank costs is not the save's
      const Clock::time_point boundary = Clock::now();
      std::array<int64_t, 1> ready = {save.is_ready() ? 1 : 0};
      comm.all_reduce(ready, ReduceOp::Min);
      complete = ready[0] == 1 && save.go_on();
      stall += ms_since(boundary);
    }
    std::array<double, 2> longest = {stall, ms_since(start)};
    comm.all_reduce(longest, ReduceOp::Max);
    for (size_t i = 0; i < sums.size() && step > 0; ++i) {
      sums[i] += longest[i] / static_cast<double>(saves);
    }
  }
  return {sums[0], sums[1]};
}

struct Sizes {
  int64_t parameters = 3'000'000, saves = 5;
  double step_ms = 20.0;
  std::string dir = (std::filesystem::temp_directory_path() / "checkpoint_bench").string();
};

std::string checkpoint_bench(const Sizes& sizes, const BenchSettings& settings) {
  const std::unique_ptr<Communicator> comm = settings.world();
  const Times spot = measure(*comm, sizes.dir, sizes.parameters, sizes.saves, sizes.step_ms, false);
  const Times behind = measure(*comm, sizes.dir, sizes.parameters, sizes.saves, sizes.step_ms, true);
  if (comm->rank() == 0) {
    std::filesystem::remove_all(sizes.dir);
    std::printf("%.1f MB of state on %d ranks, steps of %.1f ms\n", 12e-6 * static_cast<double>(sizes.parameters), comm->size(),
                sizes.step_ms);
    std::printf("%-16s %12s %16s\n", "", "stall ms", "save whole ms");
    std::printf("%-16s %12.2f %16.2f\n", "on the spot", spot.stall_ms, spot.whole_ms);
    std::printf("%-16s %12.2f %16.2f\n", "behind training", behind.stall_ms, behind.whole_ms);
    std::printf("%-16s %12.3f\n", "ratio", behind.stall_ms / spot.stall_ms);
  }
  return nlohmann::ordered_json{{"ranks", comm->size()},
                                {"state_bytes", 12 * sizes.parameters},
                                {"on_the_spot_stall_ms", spot.stall_ms},
                                {"on_the_spot_whole_ms", spot.whole_ms},
                                {"behind_stall_ms", behind.stall_ms},
                                {"behind_whole_ms", behind.whole_ms}}
      .dump(2);
}

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) {
  using namespace ringlet;
  Sizes sizes;
  const auto add_flags = [&](Flags& flags) {
    flags.whole("--parameters", sizes.parameters, 1, 1'000'000'000, "of the model; 12 bytes of state each");
    flags.whole("--saves", sizes.saves, 1, 1'000'000, "of which the mean is taken");
    flags.real("--step-ms", sizes.step_ms, {0.0, 1e6, false}, "what stands for a step of training");
    flags.text("--dir", sizes.dir, "where to save; emptied afterwards");
  };
  return bench_main({.name = "checkpoint_bench",
                     .description = "How long training stands still for a save, on the spot and behind training",
                     .ranks = BenchRanks::OfJob,
                     .devices = BenchDevices::CpuAlone,
                     .why_not_other = "a save is files, written from the memory of the host",
                     .flags = add_flags,
                     .run = [&](const BenchSettings& settings) { return checkpoint_bench(sizes, settings); }},
                    argc, argv);
}
