// step_bench: how long one rank takes for one training step of a GPT, by phase, and how much of the peak of its core, or of its GPU,
// that is.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/bench/fma_peak.h"
#include "apps/bench/harness/bench_main.h"
#include "apps/bench/harness/call_time.h"
#include "apps/bench/harness/gpt_step.h"
#include "apps/bench/harness/gpu_peak.h"

namespace ringlet {
namespace {

// Operations per second.
double peak_of(const BenchSettings& settings, const GptConfig& model) {
  return settings.on_gpu() ? GpuPeak{}.products(model.bf16 ? DType::BF16 : DType::F32, settings.tf32) : measure_fma_peak();
}

std::string step_bench(const StepRun& run, const BenchSettings& settings) {
  const StepTimes times = time_steps(run);
  const double peak = peak_of(settings, run.model), operations = operations_per_step(run.model, run.batch_size);
  const double total = median(times.total);
  const nlohmann::ordered_json found = {{"parameters", run.model.parameter_count()},
                                        {"tokens", run.tokens()},
                                        {"forward_us", 1e6 * median(times.forward)},
                                        {"backward_us", 1e6 * median(times.backward)},
                                        {"optimizer_us", 1e6 * median(times.optimizer)},
                                        {"total_us", 1e6 * total},
                                        {"fastest_us", 1e6 * *std::min_element(times.total.begin(), times.total.end())},
                                        {"operations", operations},
                                        {settings.on_gpu() ? "h200_peak_gflops" : "fma_peak_gflops", peak * 1e-9},
                                        {"percent_of_peak", 100.0 * operations / total / peak}};
  for (const auto& [name, value] : found.items()) {
    std::printf("%-16s %12.1f\n", name.c_str(), value.get<double>());
  }
  return found.dump(2);
}

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) {
  using namespace ringlet;
  constexpr int64_t kMany = 1'000'000'000;
  StepRun run;
  const auto add_flags = [&](Flags& flags) {
    model_size_flags(flags, run.model);
    flags.whole("--batch-size", run.batch_size, 1, 1'000'000, "sequences");
    flags.real("--dropout", run.model.dropout, {0.0, 1.0, true, false}, "of embeddings, attention and residual branches");
    flags.mark("--bf16", run.model.bf16, true, "activations and products in bf16, on a GPU");
    flags.whole("--steps", run.steps, 1, kMany, "of which the median is taken");
    flags.whole("--warmup", run.warmup, 0, kMany, "steps before");
  };
  const auto settle = [&](const BenchSettings& settings) {
    check(!run.model.bf16 || settings.on_gpu(), "--bf16: is computed on GPUs, got --device {}", settings.device);
    run.model.validate();
  };
  return bench_main({.name = "step_bench",
                     .description = "One rank's training step (forward, backward, AdamW): median microseconds by phase, and "
                                    "percent of the core's measured FMA peak, or of what the data sheet of an H200 says",
                     .multiplies = true,
                     .flags = add_flags,
                     .settle = settle,
                     .run = [&](const BenchSettings& settings) { return step_bench(run, settings); }},
                    argc, argv);
}
