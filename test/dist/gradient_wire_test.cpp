// Gradients on their way: rounded to bf16, within the bound that is stated.
#include <cmath>

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/reduce.h"
#include "test/dist/temporary_directory.h"
#include "test/dist/train_gpt.h"
#include "test/support/catch.h"
#include "test/support/serial_reference.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

constexpr int64_t kElements = 1001;

// What plain SGD with a rate of 1 takes off zeros: the sum over ranks of what each brings.
std::vector<double> reduced(const std::string& strategy, int ranks, const ParallelOptions& options) {
  std::vector<double> sums;
  run_ranks(ranks, [&](Communicator& comm) {
    ToyModule module;
    const Var w = module.parameter("w", Tensor::zeros({kElements}));
    const Tensor mine = floats(input_of<float>(comm.rank(), kElements));
    const auto loss = [&](const Tensor& c, const Tensor&) { return TokenLoss{sum(w * Var(c)), comm.rank() == 0 ? 1 : 0}; };
    const auto parallel = make_strategy(strategy, module, loss, comm, sgd(), options);
    LossSum local;
    local += parallel->forward_backward(mine, {});
    static_cast<void>(parallel->finish(local, 0.0));
    parallel->step(1.0);
    const std::vector<double> values = values_of(*parallel, w);
    if (comm.rank() == 0) {
      sums = values;
    }
  });
  return sums;
}

}  // namespace

TEST_CASE("gradients in bf16 are off by at most 2^-7 of the sum of magnitudes, by the same in every strategy", "[wire]") {
  ParallelOptions bf16;
  bf16.bf16_gradients = true;
  for (const int ranks : {1, 2, 3, 4, 8}) {
    const std::vector<double> expected = reduced("ddp", ranks, bf16);
    const std::vector<double> exact = reduced("ddp", ranks, {});
    double most = 0.0;
    for (int64_t i = 0; i < kElements; ++i) {
      double magnitudes = 0.0;
      for (int rank = 0; rank < ranks; ++rank) {
        magnitudes += std::abs(static_cast<double>(input_value<float>(rank, i)));
      }
      const auto at = static_cast<size_t>(i);
      const double bound = 0x1p-7 * (1 + 0x1p-8) * magnitudes;
      most = std::max(most, std::abs(expected[at] - exact[at]) / bound);
    }
    INFO(ranks << " ranks");
    CHECK(most <= 1.0);
    CHECK(most > 0.2);  // it did travel in bf16
    for (const char* strategy : {"zero1", "zero2", "fsdp"}) {
      CHECK(reduced(strategy, ranks, bf16) == expected);
    }
  }
}

TEST_CASE("what is offloaded is in mapped files, not in the rank's memory, and changes no bit", "[wire]") {
  const TemporaryDirectory dir;
  for (const std::string& strategy : kStrategies) {
    TrainOptions options{.strategy = strategy, .ranks = 2, .layers = 2};
    const TrainLog in_memory = train_gpt(options).front();
    options.parallel.offload_dir = dir.path();
    CHECK(train_gpt(options).front().hashes == in_memory.hashes);
    auto own = per_rank<int64_t>(2), mapped = per_rank<int64_t>(2), formula = per_rank<int64_t>(2),
         shards = per_rank<int64_t>(2);
    run_ranks(2, [&](Communicator& comm) {
      const auto r = static_cast<size_t>(comm.rank());
      const Job job(comm, options);
      own[r] = Allocator::current()->ledger().of(Category::Optimizer).live;
      mapped[r] = job.parallel->offloaded().of(Category::Optimizer).live;
      shards[r] = job.parallel->offloaded().of(Category::Parameters).live;
      formula[r] = job.parallel->memory_formula().optimizer;
    });
    INFO(strategy);
    CHECK(own[0] == 0);
    CHECK(mapped[0] == formula[0]);
    CHECK((shards[0] > 0) == (strategy == "fsdp" || strategy == "hsdp"));
  }
  CHECK(names_in(dir.path()).empty());  // the files have no names
  TrainOptions to_host;
  to_host.parallel.offload_to_host = true;
  CHECK_THROWS_WITH(train_gpt(to_host), Catch::Contains("to the host is for parameters on a GPU, they are on cpu"));
  TrainOptions nowhere;
  nowhere.parallel.offload_dir = dir / "nowhere";
  CHECK_THROWS_WITH(train_gpt(nowhere), Catch::Contains("cannot make a file in") && Catch::Contains("No such file"));
}
