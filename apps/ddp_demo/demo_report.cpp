#include "apps/ddp_demo/demo_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/training/failure.h"
#include "apps/training/output_file.h"

namespace ringlet {
namespace {

using Json = nlohmann::ordered_json;

double largest(const std::vector<DemoStep>& steps, double DemoStep::*field) {
  double found = 0;
  for (const DemoStep& step : steps) {
    found = worse(found, step.*field);
  }
  return found;
}

double spread_of(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *most - *least;
}

std::vector<double> column(const std::vector<DemoStep>& steps, double DemoStep::*field) {
  std::vector<double> values;
  for (const DemoStep& step : steps) {
    values.push_back(step.*field);
  }
  return values;
}

std::string to_json(const DemoResult& result, const Communicator& world) {
  const Json json = {
      {"schema", "ddp-demo.v1"},
      {"world_size", world.size()},
      {"backend", world.name()},
      {"losses", column(result.steps, &DemoStep::loss)},
      {"param_sum_per_rank", result.parameter_sums},
      {"param_sum_spread", spread_of(result.parameter_sums)},
      {"param_spread_max", largest(result.steps, &DemoStep::spread)},
      {"grad_norm_after_all_reduce", result.steps.back().gradient_norm},
      {"manual_all_reduce_max_diff_vs_single_process", largest(result.steps, &DemoStep::difference)},
      {"fsdp_round_trip_all_ranks_ok", result.round_trip_ok},
      {"fsdp_bytes_per_rank", result.bytes_sharded},
      {"timings",
       {{"total_ms", result.total_ms},
        {"step_ms", column(result.steps, &DemoStep::ms)},
        {"all_reduce_bytes", result.timed_bytes},
        {"sum_then_divide_us", result.sum_then_divide_us},
        {"avg_us", result.avg_us}}},
  };
  return json.dump(2) + "\n";
}

std::string listed(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) {
    text += text.empty() ? to_text(value) : message(" {}", value);
  }
  return text;
}

// Prints the lines, and says whether all of them hold.
class Verdicts {
 public:
  explicit Verdicts(const Communicator& world) : speaks_(world.rank() == 0) {}
  void line(bool holds, const std::string& text) {
    all_hold_ = all_hold_ && holds;
    if (speaks_) {
      std::printf("%s %s\n", holds ? "VERIFIED" : "FAILED", text.c_str());
    }
  }
  bool all_hold() const { return all_hold_; }

 private:
  bool speaks_;
  bool all_hold_ = true;
};

}  // namespace

void print_heading(const DemoConfig& config, int64_t parameters, const Communicator& world) {
  if (world.rank() != 0) {
    return;
  }
  std::printf(
      "%s\n\nstep       loss   gradient norm   |DDP - one process|   spread over ranks        ms\n",
      message("ddp_demo: {} rank{} over {}; Linear 32 to 16, GELU, Linear 16 to 4: {} parameters; batch {}, SGD {}, seed {}",
              world.size(), world.size() == 1 ? "" : "s", world.name(), parameters, config.batch_size, config.lr, config.seed)
          .c_str());
}

void report_step(const DemoStep& step, int64_t number, const Communicator& world) {
  if (world.rank() == 0) {
    std::printf("%4lld %10.7g %15.7g %21.2g %19.2g %9.3f\n", static_cast<long long>(number), step.loss, step.gradient_norm,
                step.difference, step.spread, step.ms);
  }
  if (!std::isfinite(step.loss) || !std::isfinite(step.gradient_norm)) {
    throw AgreedFailure(ExitCode::NonFinite, message("step {}: loss and gradient must be finite, got {} and {}; lower --lr",
                                                     number, step.loss, step.gradient_norm));
  }
}

ExitCode report(const DemoResult& result, const DemoConfig& config, Communicator& world) {
  const double difference = largest(result.steps, &DemoStep::difference), spread = largest(result.steps, &DemoStep::spread);
  if (world.rank() == 0) {
    std::printf("\nall_reduce of %lld bytes: SUM then divide %.0f us, AVG %.0f us\n",
                static_cast<long long>(result.timed_bytes), result.sum_then_divide_us, result.avg_us);
  }
  for (const std::string& line : result.communication ? result.communication->lines() : std::vector<std::string>()) {
    std::fputs(world.rank() == 0 ? (line + "\n").c_str() : "", stdout);
  }
  Verdicts verdicts(world);
  verdicts.line(
      difference < kDemoTolerance,
      message("the averaged gradient is that of one process on the whole batch: they differ by {} at most, {} allowed",
              difference, kDemoTolerance));
  verdicts.line(spread < kDemoTolerance && spread_of(result.parameter_sums) < kDemoTolerance,
                message("every rank holds the same parameters at every step: they are {} apart at most, {} allowed", spread,
                        kDemoTolerance));
  verdicts.line(result.round_trip_ok, "FSDP round trip: every parameter came back bit for bit on every rank");
  verdicts.line(result.bytes_ok, message("resharded, the bytes of parameters held fall to 1/{} of the padded whole: {} to {}",
                                         world.size(), result.bytes_whole, listed(result.bytes_sharded)));
  if (config.write) {
    agree(world, [&] {
      if (world.rank() == 0) {
        write_whole_file(config.output, to_json(result, world));
        std::printf("written: %s\n", config.output.c_str());
      }
    });
  }
  return verdicts.all_hold() ? ExitCode::Done : ExitCode::InvariantFailed;
}

}  // namespace ringlet
