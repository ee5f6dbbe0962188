// fingerprint_bench: what it costs to compare the ranks' calls before any of them returns. Steps of the mini-GPT in two worlds of the
// same ranks, one that compares and one that does not, in turn.
//   mpirun -np 4 ./fingerprint_bench --json FILE
//   mpirun -np 4 ./fingerprint_bench --backend nccl      on GPUs
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "apps/bench/harness/bench_main.h"
#include "apps/bench/harness/call_time.h"
#include "apps/bench/harness/gpt_step.h"
#include "apps/bench/harness/moment.h"
#include "collectives/backends/mpi.h"
#include "collectives/backends/nccl.h"
#include "collectives/backends/staged.h"
#include "dist/make_strategy.h"
#include "nn/gpt.h"

namespace ringlet {
namespace {

using Clock = std::chrono::steady_clock;

struct Sizes {
  int64_t steps = 2000, block = 5, batch_size = 4;
  std::string strategy = "zero1";
};

std::unique_ptr<Communicator> make_world(const BenchSettings& settings, bool compare_calls) {
  std::unique_ptr<Communicator> host =
      make_mpi_world(mpi_transport_named(settings.transport), {.compare_calls = compare_calls});
  if (settings.backend == "nccl") {
    return make_nccl_world(std::move(host), {.compare_calls = compare_calls});
  }
  return settings.on_gpu() ? make_staged(std::move(host), gpu()) : std::move(host);
}

// A world, and the training in it.
class Side {
 public:
  Side(const Sizes& sizes, const BenchSettings& settings, bool compare_calls)
      : world_(make_world(settings, compare_calls)),
        model_(GptConfig{}),
        parallel_(make_strategy(sizes.strategy, model_, *world_, OptimizerConfig{})),
        tokens_(random_tokens(model_.config(), sizes.batch_size, "fingerprint_bench", static_cast<uint64_t>(world_->rank()))) {}

  void step() {
    LossSum loss;
    loss += parallel_->forward_backward(tokens_, tokens_);
    parallel_->finish(loss, 0.0);
    parallel_->step(1e-3);
  }
  Communicator& world() { return *world_; }

 private:
  std::unique_ptr<Communicator> world_;
  Gpt model_;
  std::unique_ptr<Strategy> parallel_;
  Tensor tokens_;
};

// Microseconds of a step with and without comparing, medians over blocks; and of the ratio of the two sides of a block, which follow
// each other, the median: what else the machine does changes slower than that.
struct Found {
  double with, without, ratio;
};
Found measure(const Sizes& sizes, const BenchSettings& settings) {
  Side sides[] = {Side(sizes, settings, true), Side(sizes, settings, false)};
  std::vector<double> times[2];
  for (int64_t block = -2; block < sizes.steps / sizes.block; ++block) {
    for (const int64_t which : {block & 1, 1 - (block & 1)}) {
      sides[which].world().barrier();
      const auto start = Clock::now();
      for (int64_t i = 0; i < sizes.block; ++i) {
        sides[which].step();
      }
      wait_for_device();
      const double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
      if (block >= 0) {
        times[which].push_back(us / static_cast<double>(sizes.block));
      }
    }
  }
  std::vector<double> ratios;
  for (size_t i = 0; i < times[0].size(); ++i) {
    ratios.push_back(times[0][i] / times[1][i]);
  }
  return {median(times[0]), median(times[1]), median(ratios)};
}

std::string fingerprint_bench(const Sizes& sizes, const BenchSettings& settings) {
  const std::unique_ptr<Communicator> world = settings.world();
  const Found found = measure(sizes, settings);
  const nlohmann::ordered_json json = {{"ranks", world->size()},           {"transport", world->transport()},
                                       {"strategy", sizes.strategy},       {"step_us_comparing", found.with},
                                       {"step_us_without", found.without}, {"percent", 100.0 * (found.ratio - 1.0)}};
  if (world->rank() == 0) {
    std::printf("%s\n", json.dump().c_str());
  }
  return json.dump(2);
}

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) {
  using namespace ringlet;
  Sizes sizes;
  const auto add_flags = [&](Flags& flags) {
    flags.whole("--steps", sizes.steps, 1, 10'000'000, "of each side");
    flags.whole("--block", sizes.block, 1, 1'000'000, "steps in a row");
    flags.whole("--batch-size", sizes.batch_size, 1, 1'000'000, "sequences per rank");
    flags.choice("--strategy", sizes.strategy, {"ddp", "zero1", "zero2", "fsdp", "hsdp"}, "how ranks share the work");
  };
  return bench_main(
      {.name = "fingerprint_bench",
       .description = "Steps of the mini-GPT with and without comparing the ranks' calls, in turn: microseconds, and percent",
       .ranks = BenchRanks::OfJob,
       .multiplies = true,
       .flags = add_flags,
       .run = [&](const BenchSettings& settings) { return fingerprint_bench(sizes, settings); }},
      argc, argv);
}
