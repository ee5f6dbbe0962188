// demo_bench: the run of the mission, gpt_e2e for 20 steps on four ranks, as a user meets it: seconds from the launcher's start to
// its end, and the median step beside its floor in the same call: one rank's step, times the ranks that share a core.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tensor/base/check.h"

namespace ringlet {
namespace {

namespace fs = std::filesystem;

struct Run {
  double seconds;
  double step_ms;  // the median of its steps
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Run run_once(const fs::path& program, const fs::path& folder, const std::string& flags) {
  const std::string command =
      message("cd '{}' && rm -rf saved && '{}' {} --quiet --checkpoint-dir saved --summary summary >out", folder.string(),
              program.string(), flags);
  const auto start = std::chrono::steady_clock::now();
  const int status = std::system(command.c_str());  // NOLINT: a fixed command on our own program
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  check(status == 0, "demo_bench: the run failed: {}", command);
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

int demo_bench(int argc, char** argv) {
  CLI::App app("gpt_e2e, 20 steps: seconds from start to end, and the median step beside its floor in the same call");
  int64_t ranks = 4, runs = 5;
  std::string json, transport = "auto";
  app.add_option("--np", ranks)->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--runs", runs, "of which the median is taken")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--transport", transport, "as gpt_e2e takes it")
      ->check(CLI::IsMember({"mpi", "shm", "auto"}))
      ->capture_default_str();
  app.add_option("--json", json, "Also write the numbers to this file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "gpt_e2e";
  const fs::path folder = fs::temp_directory_path() / message("demo_bench-{}", getpid());
  fs::create_directories(folder);
  const Run one = median_of(runs, program, folder, "--threads 1");
  const Run all = median_of(runs, program, folder, message("--np {} --transport {}", ranks, transport));
  fs::remove_all(folder);
  const int64_t cores = std::max<int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN)), per_core = (ranks + cores - 1) / cores;
  const double floor = one.step_ms * static_cast<double>(per_core);
  const nlohmann::ordered_json found = {{"ranks", ranks},
                                        {"cores", cores},
                                        {"start_to_end_s", all.seconds},
                                        {"median_step_ms", all.step_ms},
                                        {"one_rank_step_ms", one.step_ms},
                                        {"floor_ms", floor},
                                        {"step_over_floor", all.step_ms / floor}};
  for (const auto& [name, value] : found.items()) {
    std::printf("%-18s %10.3f\n", name.c_str(), value.get<double>());
  }
  if (!json.empty()) {
    std::ofstream(json) << found.dump(2) << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) {
  try {
    return ringlet::demo_bench(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
