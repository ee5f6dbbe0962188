// fingerprint_bench: what it costs to compare the ranks' calls before any of them returns. Steps of the mini-GPT in two worlds of the
// same ranks, one that compares and one that does not, in turn.
//   mpirun -np 4 ./fingerprint_bench --json FILE
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "collectives/backends/mpi.h"
#include "dist/make_strategy.h"
#include "nn/gpt.h"
#include "tensor/base/random.h"

namespace ringlet {
namespace {

using Clock = std::chrono::steady_clock;

struct Flags {
  int64_t steps = 2000, block = 5, batch_size = 4;
  std::string transport = "auto", strategy = "zero1", json;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// A world, and the training in it.
class Side {
 public:
  Side(const Flags& flags, bool compare_calls)
      : world_(make_mpi_world(mpi_transport_named(flags.transport), {.compare_calls = compare_calls})),
        model_(GptConfig{}),
        parallel_(make_strategy(flags.strategy, model_, *world_, OptimizerConfig{})) {
    const GptConfig& config = model_.config();
    const RandomStream stream(config.seed, "fingerprint_bench", static_cast<uint64_t>(world_->rank()));
    tokens_ = Tensor::empty({flags.batch_size, config.seq_len}, DType::I32);
    int32_t* id = tokens_.mutable_data<int32_t>();
    for (int64_t i = 0; i < tokens_.numel(); ++i) {
      id[i] = static_cast<int32_t>(stream.below(static_cast<uint64_t>(i), static_cast<uint64_t>(config.vocab_size)));
    }
  }

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
Found measure(const Flags& flags) {
  Side sides[] = {Side(flags, true), Side(flags, false)};
  std::vector<double> times[2];
  for (int64_t block = -2; block < flags.steps / flags.block; ++block) {
    for (const int64_t which : {block & 1, 1 - (block & 1)}) {
      sides[which].world().barrier();
      const auto start = Clock::now();
      for (int64_t i = 0; i < flags.block; ++i) {
        sides[which].step();
      }
      const double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
      if (block >= 0) {
        times[which].push_back(us / static_cast<double>(flags.block));
      }
    }
  }
  std::vector<double> ratios;
  for (size_t i = 0; i < times[0].size(); ++i) {
    ratios.push_back(times[0][i] / times[1][i]);
  }
  return {median(times[0]), median(times[1]), median(ratios)};
}

int fingerprint_bench(int argc, char** argv) {
  Flags flags;
  CLI::App app("Steps of the mini-GPT with and without comparing the ranks' calls, in turn: microseconds, and percent");
  app.add_option("--steps", flags.steps, "of each side")->check(CLI::Range(20, 10'000'000))->capture_default_str();
  app.add_option("--block", flags.block, "steps in a row")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--batch-size", flags.batch_size)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--strategy", flags.strategy)->capture_default_str();
  app.add_option("--transport", flags.transport)->check(CLI::IsMember({"mpi", "shm", "auto"}))->capture_default_str();
  app.add_option("--json", flags.json, "Also write the numbers to this file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const MpiSession session;
  const std::unique_ptr<Communicator> world = make_mpi_world(mpi_transport_named(flags.transport));
  const Found found = measure(flags);
  if (world->rank() == 0) {
    const nlohmann::ordered_json json = {{"ranks", world->size()},           {"transport", world->transport()},
                                         {"strategy", flags.strategy},       {"step_us_comparing", found.with},
                                         {"step_us_without", found.without}, {"percent", 100.0 * (found.ratio - 1.0)}};
    std::printf("%s\n", json.dump().c_str());
    if (!flags.json.empty()) {
      std::ofstream(flags.json) << json.dump(2) << "\n";
    }
  }
  return 0;
}

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) {
  try {
    return ringlet::fingerprint_bench(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fingerprint_bench: %s\n", error.what());
    ringlet::abort_world(1);
  }
}
