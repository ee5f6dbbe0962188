// collectives_bench: every operation and size beside Open MPI's own call and beside the floor that memory sets, in one run.
//   mpirun -np 4 ./collectives_bench --json bench.json
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/bench/collectives_bench/algorithms.h"
#include "apps/bench/collectives_bench/case.h"
#include "apps/bench/collectives_bench/measure.h"
#include "apps/bench/collectives_bench/on_gpu.h"
#include "apps/bench/harness/bench_main.h"

namespace ringlet {
namespace {

struct Sizes {
  std::vector<std::string> ops = case_names();
  int64_t min_bytes = 4, max_bytes = int64_t{64} << 20;
  int64_t growth = 4;
  double seconds = 0.3;
  bool arena = true, algorithms = false;
};

// The rows of one operation and size: buffers of a rank's own, and where there is an arena buffers in it.
std::vector<nlohmann::ordered_json> measure(Communicator& world, Pools& pools, Pools* arena, GlooPeer* gloo,
                                            const std::string& op, int64_t bytes, double seconds) {
  const Case one = make_case(op, bytes, world, pools, gloo);
  require_right(world, one, pools);
  const auto copy = [&](int64_t i) {
    const auto n = static_cast<size_t>(one.bytes) / sizeof(float), at = static_cast<size_t>(i) * n;
    std::memcpy(pools.out.data() + at, pools.in.data() + at, n * sizeof(float));
  };
  std::vector<Contestant> contestants = {{&pools, one.ours}, {&pools, copy}};
  for (const Peer& peer : one.peers) {
    contestants.push_back({&pools, peer.run});
  }
  if (one.gloo) {
    contestants.push_back({&pools, one.gloo});
  }
  if (arena != nullptr) {
    const Case same = make_case(op, bytes, world, *arena);
    require_right(world, same, *arena);
    contestants.push_back({arena, same.ours});
  }
  const std::vector<Figures> figures = race(world, one, seconds, contestants);
  const double gb_s = 2.0 * world.size() * static_cast<double>(one.bytes) / figures[1].median() / 1e3;
  size_t best = 2;
  for (size_t k = 2; k < 2 + one.peers.size(); ++k) {
    best = figures[k].median() < figures[best].median() ? k : best;
  }
  const auto row = [&](const char* variant, const Figures& ours) {
    nlohmann::ordered_json figures_of{{"op", one.op},
                                      {"bytes", one.bytes},
                                      {"ranks", world.size()},
                                      {"variant", variant},
                                      {"algorithm", std::string(world.transport())},
                                      {"ours_us", ours.median()},
                                      {"ours_p99_us", ours.p99()},
                                      {"mpi_us", figures[best].median()},
                                      {"mpi_call", one.peers[best - 2].call},
                                      {"floor_us", one.floor_bytes / gb_s / 1e3},
                                      {"floor_gb_s", gb_s}};
    if (one.gloo) {
      figures_of["gloo_us"] = figures[2 + one.peers.size()].median();
    }
    return figures_of;
  };
  std::vector<nlohmann::ordered_json> rows = {row("copy", figures[0])};
  if (arena != nullptr) {
    rows.push_back(row("arena", figures.back()));
  }
  return rows;
}

void print_row(const nlohmann::ordered_json& row) {
  const double ours = row["ours_us"], mpi = row["mpi_us"], floor = row["floor_us"];
  const double gloo = row.contains("gloo_us") ? row["gloo_us"].get<double>() : 0;
  std::printf("%-15s %10lld %-6s %11.1f %11.1f %11.1f %8.2f %11.1f %6.0f %% %11.1f %8.2f\n",
              row["op"].get<std::string>().c_str(), static_cast<long long>(row["bytes"].get<int64_t>()),
              row["variant"].get<std::string>().c_str(), ours, row["ours_p99_us"].get<double>(), mpi, mpi / ours, floor,
              100 * floor / ours, gloo, gloo / ours);
  std::fflush(stdout);
}

// The figures that a reader asks for first.
void print_summary(const std::vector<nlohmann::ordered_json>& rows) {
  std::map<std::string, std::vector<double>> ratios, floors;
  std::map<std::string, double> worst;
  for (const auto& row : rows) {
    const std::string op = row["op"].get<std::string>() + ", " + row["variant"].get<std::string>();
    const double ratio = row["mpi_us"].get<double>() / row["ours_us"].get<double>();
    worst[op] = worst.contains(op) ? std::min(worst[op], ratio) : ratio;
    if (row["bytes"].get<int64_t>() >= 64 << 10) {
      ratios[op].push_back(ratio);
    }
    if (row["bytes"].get<int64_t>() >= 4 << 20) {
      floors[op].push_back(row["floor_us"].get<double>() / row["ours_us"].get<double>());
    }
  }
  std::printf("\n%-22s %22s %16s %24s\n", "", "from 64 KB, median", "worst", "of the floor, from 4 MB");
  for (const auto& [op, least] : worst) {
    std::printf("%-22s %20.2f x %14.2f x %22.0f %%\n", op.c_str(), ratios[op].empty() ? 0 : Figures{ratios[op]}.median(), least,
                floors[op].empty() ? 0 : 100 * Figures{floors[op]}.median());
  }
}

// A folder in which the ranks of this job find each other, and nobody else does.
std::string meeting_folder(Communicator& world) {
  std::vector<int64_t> process = {world.rank() == 0 ? static_cast<int64_t>(getpid()) : 0};
  world.broadcast(process, 0);
  return (std::filesystem::temp_directory_path() / message("collectives_bench-{}", process[0])).string();
}

std::vector<nlohmann::ordered_json> race_peers(Communicator& world, const Sizes& sizes) {
  const bool speaks = world.rank() == 0;
  if (speaks) {
    const std::string details = world.transport_details();
    std::printf(
        "%d ranks, transport %s%s, fp32; us per call (median), Open MPI's best call, the floor, gloo (0: none)\n"
        "%-15s %10s %-6s %11s %11s %11s %8s %11s %8s %11s %8s\n",
        world.size(), std::string(world.transport()).c_str(), details.empty() ? "" : message(" ({})", details).c_str(),
        "operation", "bytes", "", "ours", "p99", "Open MPI", "ratio", "floor", "of it", "gloo", "ratio");
  }
  const std::string folder = meeting_folder(world);
  std::filesystem::create_directories(folder);
  world.barrier();
  const std::unique_ptr<GlooPeer> gloo = world.size() > 1 ? GlooPeer::join(world.rank(), world.size(), folder) : nullptr;
  world.barrier();
  if (speaks) {
    std::filesystem::remove_all(folder);
  }
  Pools pools(sizes.max_bytes, system_arena());
  const bool has_arena = sizes.arena && world.transport() == "shm";
  const std::unique_ptr<Pools> arena = has_arena ? std::make_unique<Pools>(sizes.max_bytes, world.arena()) : nullptr;
  std::vector<nlohmann::ordered_json> rows;
  for (const std::string& op : sizes.ops) {
    for (int64_t bytes = sizes.min_bytes; bytes <= sizes.max_bytes; bytes *= sizes.growth) {
      for (const nlohmann::ordered_json& row : measure(world, pools, arena.get(), gloo.get(), op, bytes, sizes.seconds)) {
        rows.push_back(row);
        if (speaks) {
          print_row(row);
        }
      }
    }
  }
  if (speaks) {
    print_summary(rows);
  }
  return rows;
}

std::vector<nlohmann::ordered_json> race_algorithms(const Communicator& world, const Sizes& sizes) {
  std::vector<nlohmann::ordered_json> rows;
  const AlgorithmsRun run{sizes.ops, sizes.min_bytes, sizes.max_bytes, sizes.growth, sizes.seconds};
  for (const AlgorithmRow& row : race_algorithms(run, world.rank() == 0)) {
    rows.push_back({{"op", row.op},
                    {"bytes", row.bytes},
                    {"ranks", world.size()},
                    {"algorithm", row.algorithm},
                    {"ours_us", row.median_us},
                    {"ours_p99_us", row.p99_us},
                    {"predicted_us", row.predicted_us}});
  }
  return rows;
}

std::vector<nlohmann::ordered_json> race_on_gpu(Communicator& world, const Sizes& sizes) {
  std::vector<nlohmann::ordered_json> rows;
  for (const GpuRow& row : time_on_gpu(world, sizes.ops, {sizes.min_bytes, sizes.max_bytes, sizes.growth}, sizes.seconds)) {
    rows.push_back({{"op", row.op},
                    {"bytes", row.bytes},
                    {"ranks", world.size()},
                    {"variant", "gpu"},
                    {"algorithm", std::string(world.transport())},
                    {"ours_us", row.median_us},
                    {"ours_p99_us", row.p99_us},
                    {"bus_gb_s", row.bus_gb_s}});
  }
  return rows;
}

std::string collectives_bench(const Sizes& sizes, const BenchSettings& settings) {
  const bool in_arena = sizes.arena && !settings.on_gpu();
  const auto world = settings.world({.arena_bytes = in_arena ? Pools::bytes(sizes.max_bytes) : 0});
  return nlohmann::ordered_json(settings.on_gpu()  ? race_on_gpu(*world, sizes)
                                : sizes.algorithms ? race_algorithms(*world, sizes)
                                                   : race_peers(*world, sizes))
      .dump(1);
}

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) {
  using namespace ringlet;
  Sizes sizes;
  const auto add_flags = [&](Flags& flags) {
    flags.choices("--op", sizes.ops, case_names(), "operations");
    flags.whole("--min-bytes", sizes.min_bytes, 4, 1 << 30, "of the smallest row");
    flags.whole("--max-bytes", sizes.max_bytes, 4, 1 << 30, "of the largest");
    flags.whole("--growth", sizes.growth, 2, 1024, "of the size from row to row");
    flags.real("--seconds", sizes.seconds, {0.0, 1e6, false}, "for each contestant of a row");
    flags.mark("--algorithms", sizes.algorithms, true,
               "instead: every algorithm over messages, beside what its cost model says");
    flags.mark("--no-arena", sizes.arena, false, "only buffers of a rank's own, not also buffers in shared memory");
  };
  const auto settle = [&](const BenchSettings& settings) {
    check(!sizes.algorithms || !settings.on_gpu(), "--algorithms: messages carry the memory of the CPU, got --device {}",
          settings.device);
  };
  return bench_main(
      {.name = "collectives_bench",
       .description = "Collectives beside Open MPI's and gloo's and beside the floor that memory sets; on GPUs alone, "
                      "since those peers take the memory of the CPU. Run it under mpirun.",
       .ranks = BenchRanks::OfJob,
       .flags = add_flags,
       .settle = settle,
       .run = [&](const BenchSettings& settings) { return collectives_bench(sizes, settings); }},
      argc, argv);
}
