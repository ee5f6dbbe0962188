// gpu_bench: what a GPU makes of ringlet. Every kernel that memory bounds, at the shapes of GPT-2's 124M parameters, beside the bandwidth
// of a copy in the same run; and the training step of that model in bf16.
//   ./gpu_bench --json FILE
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/bench/gpu_bench/gpt_shapes.h"
#include "apps/bench/gpu_bench/memory_rows.h"
#include "apps/bench/harness/bench_main.h"
#include "apps/bench/harness/call_time.h"
#include "apps/bench/harness/gpt_step.h"
#include "apps/bench/harness/gpu_numbers.h"
#include "apps/bench/harness/gpu_peak.h"
#include "apps/training/rank_device.h"
#include "tensor/base/gpu.h"

namespace ringlet {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kGoal = 0.7;  // of the bandwidth of a copy

struct Sizes {
  std::string shapes = "gpt2", only = "all";
  int64_t batch_size = 32, rounds = 11, steps = 20, warmup = 5;
  double peak_tflops = GpuPeak{}.bf16 * 1e-12;
};

// GB/s. What the allocator kept goes back: the rows together hold more than a GPU has.
double time_row(const MemoryRow& row, int64_t rounds, double least_seconds, double& seconds) {
  seconds = seconds_of_call(cold_sets(row.make, row.bytes), rounds, least_seconds);
  Allocator::current()->trim();
  return 1e-9 * static_cast<double>(row.bytes) / seconds;
}

Json time_kernels(const GptShapes& shapes, int64_t copied_bytes, int64_t rounds, double least_seconds) {
  double seconds = 0;
  const double copy = time_row(copy_row(copied_bytes), rounds, least_seconds, seconds);
  std::printf("copy of %lld bytes: %.1f GB/s, read and written; an H200 promises %.0f\n", static_cast<long long>(copied_bytes),
              copy, 1e-9 * GpuPeak{}.bytes_per_second);
  std::printf("%-28s %-5s %12s %10s %9s %9s   goal\n", "kernel", "", "bytes", "us", "GB/s", "of copy");
  Json rows = Json::array();
  std::vector<MemoryRow> all = activation_rows(shapes);
  for (MemoryRow& row : parameter_rows(shapes)) {
    all.push_back(std::move(row));
  }
  for (const MemoryRow& row : all) {
    const double gb_s = time_row(row, rounds, least_seconds, seconds);
    rows.push_back({{"kernel", row.kernel},
                    {"dtype", row.dtype},
                    {"formula", row.formula},
                    {"bytes", row.bytes},
                    {"us", 1e6 * seconds},
                    {"gb_s", gb_s},
                    {"share_of_copy", gb_s / copy}});
    std::printf("%-28s %-5s %12lld %10.1f %9.1f %7.0f %%   %.0f %%%s\n", row.kernel.c_str(), row.dtype.c_str(),
                static_cast<long long>(row.bytes), 1e6 * seconds, gb_s, 100 * gb_s / copy, 100 * kGoal,
                gb_s < kGoal * copy ? " missed" : "");
    std::fflush(stdout);
  }
  return {{"copied_bytes", copied_bytes}, {"copy_gb_s", copy}, {"goal", kGoal}, {"rows", rows}};
}

Json time_step(const GptShapes& shapes, const Sizes& sizes) {
  const StepRun run{shapes.model, shapes.B, sizes.steps, sizes.warmup};
  const StepTimes times = time_steps(run);
  const double step = median(times.total), operations = operations_per_step(run.model, run.batch_size);
  const Json found = {{"parameters", run.model.parameter_count()},
                      {"batch_size", run.batch_size},
                      {"tokens", run.tokens()},
                      {"dtype", "bf16"},
                      {"forward_ms", 1e3 * median(times.forward)},
                      {"backward_ms", 1e3 * median(times.backward)},
                      {"optimizer_ms", 1e3 * median(times.optimizer)},
                      {"step_ms", 1e3 * step},
                      {"tokens_per_second", static_cast<double>(run.tokens()) / step},
                      {"operations", operations},
                      {"peak_tflops", sizes.peak_tflops},
                      {"mfu", operations / step / (1e12 * sizes.peak_tflops)}};
  std::printf("\nstep of %lld parameters in bf16, %lld sequences of %lld\n",
              static_cast<long long>(run.model.parameter_count()), static_cast<long long>(run.batch_size),
              static_cast<long long>(run.model.seq_len));
  for (const char* name : {"forward_ms", "backward_ms", "optimizer_ms", "step_ms", "tokens_per_second"}) {
    std::printf("%-18s %12.3f\n", name, found[name].get<double>());
  }
  std::printf("%-18s %12.1f %% of %.1f TFLOP/s\n", "mfu", 100 * found["mfu"].get<double>(), sizes.peak_tflops);
  return found;
}

std::string gpu_bench(const Sizes& sizes) {
  const bool small = sizes.shapes == "small";
  const GptShapes shapes = small ? small_shapes() : gpt2_shapes(sizes.batch_size);
  const int64_t cache = gpu().cache_bytes(Allocator::current()->device().index);
  const int64_t copied = small ? 8 * cache : std::max<int64_t>(8 * cache, int64_t{1} << 29);
  std::printf("%s\n", device_text().c_str());
  Json found = {{"device", device_text()},
                {"cache_bytes", cache},
                {"letters",
                 {{"B", shapes.B},
                  {"T", shapes.model.seq_len},
                  {"N", shapes.N()},
                  {"C", shapes.C()},
                  {"H", shapes.H()},
                  {"V", shapes.V()},
                  {"P", shapes.P()},
                  {"U", shapes.U()},
                  {"D", copied}}}};
  if (sizes.only != "step") {
    found["memory"] = time_kernels(shapes, copied, sizes.rounds, small ? 0.0 : 2e-3);
  }
  if (sizes.only != "kernels") {
    found["step"] = time_step(shapes, sizes);
  }
  return found.dump(1);
}

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) {
  using namespace ringlet;
  Sizes sizes;
  const auto add_flags = [&](Flags& flags) {
    flags.choice("--shapes", sizes.shapes, {"gpt2", "small"},
                 "GPT-2's 124M parameters at T = 1024, or a GPT for a GPU in software");
    flags.choice("--only", sizes.only, {"all", "kernels", "step"}, "what to measure");
    flags.whole("--batch-size", sizes.batch_size, 1, 100'000, "sequences, of kernels and step");
    flags.whole("--rounds", sizes.rounds, 1, 100'000, "of a kernel, of which the median is taken");
    flags.whole("--steps", sizes.steps, 1, 1'000'000, "of which the median is taken");
    flags.whole("--warmup", sizes.warmup, 0, 1'000'000, "steps before");
    flags.real("--peak-tflops", sizes.peak_tflops, {0.0, 1e9, false},
               "that the mfu is taken of; default: an H200 or H100, dense bf16");
  };
  return bench_main(
      {.name = "gpu_bench",
       .description = "Every kernel that memory bounds, beside the bandwidth of a copy in the same run, and the training "
                      "step of GPT-2's 124M parameters in bf16, on one GPU. Times are between events; a kernel works in "
                      "turn on so much memory that the cache has forgotten it.",
       .devices = BenchDevices::GpuAlone,
       .why_not_other = "it measures the memory of a GPU",
       .flags = add_flags,
       .run = [&](const BenchSettings&) { return gpu_bench(sizes); }},
      argc, argv);
}
