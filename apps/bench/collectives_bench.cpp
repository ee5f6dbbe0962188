// collectives_bench: every operation and size beside Open MPI's own call and beside the floor that memory sets, in one run.
//   mpirun -np 4 ./collectives_bench --json bench.json
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/bench/collectives_bench/algorithms.h"
#include "apps/bench/collectives_bench/case.h"
#include "apps/bench/collectives_bench/measure.h"
#include "collectives/backends/mpi.h"
#include "collectives/factory.h"

namespace ringlet {
namespace {

struct Flags {
  std::vector<std::string> ops = case_names();
  int64_t min_bytes = 4, max_bytes = int64_t{64} << 20;
  int64_t growth = 4;
  double seconds = 0.3;
  std::string transport = "auto", json;
  bool arena = true, algorithms = false;
};

void require_right(Communicator& world, const Case& one, const Pools& pools) {
  dirty(one, world, pools, 0);
  one.ours(0);
  std::vector<int32_t> right = {one.right() ? 1 : 0};
  world.all_reduce(right, ReduceOp::Min);
  check(right[0] == 1, "collectives_bench: {} of {} bytes gave a wrong result", one.op, one.bytes);
}

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

Flags parse(CLI::App& app, int argc, char** argv) {
  Flags flags;
  app.add_option("--op", flags.ops, "operations")->check(CLI::IsMember(case_names()))->delimiter(',')->capture_default_str();
  app.add_option("--min-bytes", flags.min_bytes)->check(CLI::Range(4, 1 << 30))->capture_default_str();
  app.add_option("--max-bytes", flags.max_bytes)->check(CLI::Range(4, 1 << 30))->capture_default_str();
  app.add_option("--growth", flags.growth, "of the size from row to row")->check(CLI::Range(2, 1024))->capture_default_str();
  app.add_option("--seconds", flags.seconds, "for each contestant of a row")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--transport", flags.transport, "as gpt_e2e takes it")
      ->check(CLI::IsMember({"mpi", "shm", "auto"}))
      ->capture_default_str();
  app.add_flag("--algorithms", flags.algorithms, "instead: every algorithm over messages, beside what its cost model says");
  app.add_flag("!--no-arena", flags.arena, "only buffers of a rank's own, not also buffers in shared memory");
  app.add_option("--json", flags.json, "Also write the rows to this file");
  app.parse(argc, argv);
  return flags;
}

// A folder in which the ranks of this job find each other, and nobody else does.
std::string meeting_folder(Communicator& world) {
  std::vector<int64_t> process = {world.rank() == 0 ? static_cast<int64_t>(getpid()) : 0};
  world.broadcast(process, 0);
  return (std::filesystem::temp_directory_path() / message("collectives_bench-{}", process[0])).string();
}

std::vector<nlohmann::ordered_json> race_peers(Communicator& world, const Flags& flags) {
  const bool speaks = world.rank() == 0;
  if (speaks) {
    std::printf(
        "%d ranks, transport %s, fp32; us per call (median), Open MPI's best call, the floor, gloo (0: none)\n"
        "%-15s %10s %-6s %11s %11s %11s %8s %11s %8s %11s %8s\n",
        world.size(), std::string(world.transport()).c_str(), "operation", "bytes", "", "ours", "p99", "Open MPI", "ratio",
        "floor", "of it", "gloo", "ratio");
  }
  const std::string folder = meeting_folder(world);
  std::filesystem::create_directories(folder);
  world.barrier();
  const std::unique_ptr<GlooPeer> gloo = world.size() > 1 ? GlooPeer::join(world.rank(), world.size(), folder) : nullptr;
  world.barrier();
  if (speaks) {
    std::filesystem::remove_all(folder);
  }
  Pools pools(flags.max_bytes, system_arena());
  const bool has_arena = flags.arena && world.transport() == "shm";
  const std::unique_ptr<Pools> arena = has_arena ? std::make_unique<Pools>(flags.max_bytes, world.arena()) : nullptr;
  std::vector<nlohmann::ordered_json> rows;
  for (const std::string& op : flags.ops) {
    for (int64_t bytes = flags.min_bytes; bytes <= flags.max_bytes; bytes *= flags.growth) {
      for (const nlohmann::ordered_json& row : measure(world, pools, arena.get(), gloo.get(), op, bytes, flags.seconds)) {
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

std::vector<nlohmann::ordered_json> race_algorithms(const Communicator& world, const Flags& flags) {
  std::vector<nlohmann::ordered_json> rows;
  const AlgorithmsRun run{flags.ops, flags.min_bytes, flags.max_bytes, flags.growth, flags.seconds};
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

int collectives_bench(int argc, char** argv) {
  CLI::App app("Collectives beside Open MPI's and beside the floor that memory sets. Run it under mpirun.");
  Flags flags;
  try {
    flags = parse(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const MpiSession session;
  const auto world =
      make_world("mpi", {.transport = flags.transport, .arena_bytes = flags.arena ? Pools::bytes(flags.max_bytes) : 0});
  const std::vector<nlohmann::ordered_json> rows =
      flags.algorithms ? race_algorithms(*world, flags) : race_peers(*world, flags);
  if (world->rank() == 0 && !flags.json.empty()) {
    std::ofstream(flags.json) << nlohmann::ordered_json(rows).dump(1) << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) {
  try {
    return ringlet::collectives_bench(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "collectives_bench: %s\n", error.what());
    ringlet::abort_world(1);
  }
}
