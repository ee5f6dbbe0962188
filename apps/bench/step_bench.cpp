// step_bench: how long one rank takes for one training step of a GPT, by phase, and how much of the core's peak that is.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "apps/bench/fma_peak.h"
#include "nn/gpt.h"
#include "optim/adamw.h"
#include "tensor/base/random.h"

namespace ringlet {
namespace {

struct Flags {
  GptConfig model;
  int64_t batch_size = 4;
  int64_t steps = 500;
  int64_t warmup = 50;
  std::string json;
};

// Microseconds of every step, by phase.
struct Timings {
  std::vector<double> forward, backward, optimizer, total;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size()) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Products only: 6 per weight and token (2 forward, 4 backward), and 12·T·C per layer and token for attention's two products.
double operations_per_step(const GptConfig& c, int64_t batch_size) {
  const int64_t weights = c.layers * 12 * c.embed_dim * c.embed_dim + c.embed_dim * c.vocab_size;
  return static_cast<double>(batch_size * c.seq_len * (6 * weights + 12 * c.layers * c.seq_len * c.embed_dim));
}

Tensor random_tokens(const Flags& flags, uint64_t index) {
  const RandomStream stream(flags.model.seed, "step_bench", index);
  Tensor ids = Tensor::empty({flags.batch_size, flags.model.seq_len}, DType::I32);
  int32_t* id = ids.mutable_data<int32_t>();
  for (int64_t i = 0; i < ids.numel(); ++i) {
    id[i] = static_cast<int32_t>(stream.below(static_cast<uint64_t>(i), static_cast<uint64_t>(flags.model.vocab_size)));
  }
  return ids;
}

Timings measure(const Flags& flags) {
  using Clock = std::chrono::steady_clock;
  const auto microseconds = [](Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::micro>(to - from).count();
  };
  Gpt model(flags.model);
  AdamW adamw(decay_groups(0.1), slices_of(model.parameters()));
  const Tensor tokens = random_tokens(flags, 0), targets = random_tokens(flags, 1);
  Timings timings;
  for (int64_t step = 0; step < flags.warmup + flags.steps; ++step) {
    const auto start = Clock::now();
    const TokenLoss loss = model.loss(tokens, targets);
    const auto forward_done = Clock::now();
    backward(loss.sum);
    const auto backward_done = Clock::now();
    adamw.step(1e-3);
    adamw.zero_grad();
    const auto end = Clock::now();
    if (step >= flags.warmup) {
      timings.forward.push_back(microseconds(start, forward_done));
      timings.backward.push_back(microseconds(forward_done, backward_done));
      timings.optimizer.push_back(microseconds(backward_done, end));
      timings.total.push_back(microseconds(start, end));
    }
  }
  return timings;
}

void report(const Flags& flags, const Timings& timings) {
  const double peak = measure_fma_peak(), operations = operations_per_step(flags.model, flags.batch_size);
  const double total = median(timings.total);
  const nlohmann::ordered_json found = {{"parameters", flags.model.parameter_count()},
                                        {"tokens", flags.batch_size * flags.model.seq_len},
                                        {"forward_us", median(timings.forward)},
                                        {"backward_us", median(timings.backward)},
                                        {"optimizer_us", median(timings.optimizer)},
                                        {"total_us", total},
                                        {"fastest_us", *std::min_element(timings.total.begin(), timings.total.end())},
                                        {"operations", operations},
                                        {"fma_peak_gflops", peak * 1e-9},
                                        {"percent_of_peak", 100.0 * operations / (total * 1e-6) / peak}};
  for (const auto& [name, value] : found.items()) {
    std::printf("%-16s %12.1f\n", name.c_str(), value.get<double>());
  }
  if (!flags.json.empty()) {
    std::ofstream(flags.json) << found.dump(2) << "\n";
  }
}

int step_bench(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "One rank's training step (forward, backward, AdamW): median microseconds by phase, and percent of the FMA peak");
  app.add_option("--layers", flags.model.layers)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--embed-dim", flags.model.embed_dim)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--heads", flags.model.heads)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--vocab-size", flags.model.vocab_size)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seq-len", flags.model.seq_len)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--batch-size", flags.batch_size)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--dropout", flags.model.dropout)->check(CLI::Range(0.0, 1.0))->capture_default_str();
  app.add_option("--steps", flags.steps)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--warmup", flags.warmup)->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--json", flags.json, "Also write the numbers to this file");
  try {
    app.parse(argc, argv);
    flags.model.validate();
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const Error& error) {
    std::fprintf(stderr, "step_bench: %s\n", error.what());
    return 2;
  }
  report(flags, measure(flags));
  return 0;
}

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) { return ringlet::step_bench(argc, argv); }
