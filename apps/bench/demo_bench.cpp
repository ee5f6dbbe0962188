// demo_bench: the run of the mission, gpt_e2e for 20 steps on four ranks, as a user meets it: seconds from the launcher's start to
// its end, and the median step beside its floor in the same call: one rank's step, times the ranks that share a core.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/bench/harness/bench_main.h"
#include "apps/bench/harness/call_time.h"
#include "tensor/base/gpu.h"

namespace ringlet {
namespace {

namespace fs = std::filesystem;

struct Run {
  double seconds;
  double step_ms;  // the median of its steps
};

Run run_once(const fs::path& program, const fs::path& folder, const std::string& flags) {
  const std::string command =
      message("cd '{}' && rm -rf saved && '{}' {} --quiet --checkpoint-dir saved --summary summary >out", folder.string(),
              program.string(), flags);
  const auto start = std::chrono::steady_clock::now();
  const int status = std::system(command.c_str());  // NOLINT: a fixed command on our own program
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  check<DataError>(status == 0, "the run failed: {}", command);
  std::ifstream file(folder / "summary");
  const nlohmann::json summary = nlohmann::json::parse(file);
  std::vector<double> steps;
  for (const auto& step : summary["steps"]) {
    steps.push_back(step["step_ms"].get<double>());
  }
  return {seconds, median(steps)};
}

Run median_of(int64_t runs, const fs::path& program, const fs::path& folder, const std::string& flags) {
  std::vector<double> seconds, steps;
  for (int64_t i = 0; i < runs; ++i) {
    const Run run = run_once(program, folder, flags);
    seconds.push_back(run.seconds);
    steps.push_back(run.step_ms);
  }
  return {median(seconds), median(steps)};
}

struct Sizes {
  int64_t ranks = 4, runs = 5;
};

std::string demo_bench(const Sizes& sizes, const BenchSettings& settings) {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "gpt_e2e";
  const fs::path folder = fs::temp_directory_path() / message("demo_bench-{}", getpid());
  fs::create_directories(folder);
  const std::string device = message("--device {}{}", settings.device, settings.tf32 ? " --tf32" : "");
  const Run one = median_of(sizes.runs, program, folder, "--threads 1 " + device);
  const Run all =
      median_of(sizes.runs, program, folder,
                message("--np {} --backend {} --transport {} {}", sizes.ranks, settings.backend, settings.transport, device));
  fs::remove_all(folder);
  const int64_t cores = std::max<int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN));
  const int64_t places = settings.on_gpu() ? gpu().device_count() : cores;  // ranks that can compute at once
  const double floor = one.step_ms * static_cast<double>((sizes.ranks + places - 1) / places);
  const nlohmann::ordered_json found = {{"ranks", sizes.ranks},
                                        {settings.on_gpu() ? "gpus" : "cores", places},
                                        {"start_to_end_s", all.seconds},
                                        {"median_step_ms", all.step_ms},
                                        {"one_rank_step_ms", one.step_ms},
                                        {"floor_ms", floor},
                                        {"step_over_floor", all.step_ms / floor}};
  for (const auto& [name, value] : found.items()) {
    std::printf("%-18s %10.3f\n", name.c_str(), value.get<double>());
  }
  return found.dump(2);
}

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) {
  using namespace ringlet;
  Sizes sizes;
  const auto add_flags = [&](Flags& flags) {
    flags.whole("--np", sizes.ranks, 1, 64, "ranks");
    flags.whole("--runs", sizes.runs, 1, 1'000'000, "of which the median is taken");
  };
  return bench_main(
      {.name = "demo_bench",
       .description =
           "gpt_e2e, 20 steps: seconds from start to end, and the median step beside its floor in the same call: the "
           "step of one rank times the ranks that share a core, or a GPU",
       .ranks = BenchRanks::Started,
       .multiplies = true,
       .flags = add_flags,
       .run = [&](const BenchSettings& settings) { return demo_bench(sizes, settings); }},
      argc, argv);
}
