#include <array>
#include <set>

#include "apps/training/train.h"
#include "dist/make_strategy.h"
#include "nn/gpt.h"
#include "test/support/catch.h"
#include "test/support/run_ranks.h"

using namespace ringlet;

namespace {

// The same tokens for every sequence of every step: what differs between two losses is the dropout mask.
class OneSentence final : public Dataset {
 public:
  int64_t vocab_size() const override { return 64; }
  void read(int64_t, int64_t, int64_t, std::span<int32_t> block) const override {
    for (size_t t = 0; t < block.size(); ++t) {
      block[t] = static_cast<int32_t>(3 * t);
    }
  }
  uint64_t fingerprint() const override { return 0; }
  std::string description() const override { return "one sentence"; }
};

class LocalLosses final : public Observer {
 public:
  void on_backward(int64_t /*step*/, LossSum& local) override { sums.push_back(local.sum()); }
  void on_step(const StepRecord& /*record*/) override {}
  std::vector<double> sums;
};

}  // namespace

TEST_CASE("[N3] dropout masks differ between steps, micro-batches and ranks; without dropout nothing does", "[training]") {
  for (const double dropout : {0.0, 0.5}) {
    std::array<std::vector<double>, 2> sums;
    test::run_ranks(2, [&](Communicator& world) {
      Gpt model(GptConfig{.dropout = dropout});
      const auto parallel = make_strategy("ddp", model, world, {});
      const OneSentence dataset;
      const Loader loader(dataset, {.sequences = 2, .batch_size = 1}, 16, world.rank(), world.size());
      Guard guard({});
      NoRecovery recovery;
      LocalLosses losses;
      train(model, *parallel, loader, guard, losses, recovery, {.first_step = 0, .last_step = 4, .schedule = {.lr = 0.0}});
      sums[static_cast<size_t>(world.rank())] = losses.sums;
    });
    std::set<double> distinct(sums[0].begin(), sums[0].end());
    distinct.insert(sums[1].begin(), sums[1].end());
    CHECK(distinct.size() == (dropout > 0.0 ? 8 : 1));
  }
}
