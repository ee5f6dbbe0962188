// Ranks that do not mean the same: other parameters, another optimizer, other options.
#include <cmath>

#include "test/dist/on_ranks.h"
#include "test/dist/train_gpt.h"

using namespace ringlet;
using namespace ringlet::test;

TEST_CASE("modules that differ between ranks are refused at construction, by name, on every rank [H8]", "[dist]") {
  struct Row {
    const char* what;
    std::function<void(ToyModule&)> other;  // what rank 1 has instead
    const char* part;
  };
  const Tensor two = floats({1, 2});
  const std::vector<Row> rows{
      {"another order", [&](ToyModule& m) { m.parameter("b", two.clone()), m.parameter("a", two.clone()); },
       "parameter a [2] f32 on rank 0, parameter b [2] f32 on rank 1"},
      {"another shape", [&](ToyModule& m) { m.parameter("a", two.clone()), m.parameter("b", floats({1})); },
       "parameter b [2] f32 on rank 0, parameter b [1] f32 on rank 1"},
      {"another dtype", [&](ToyModule& m) { m.parameter("a", two.clone()), m.parameter("b", two.to(DType::F64)); },
       "parameter b [2] f32 on rank 0, parameter b [2] f64 on rank 1"},
      {"a frozen one", [&](ToyModule& m) { m.parameter("a", two.clone()), m.frozen("b", two.clone()); },
       "parameter b [2] f32 on rank 0, parameter b [2] f32 frozen on rank 1"},
      {"one less", [&](ToyModule& m) { m.parameter("a", two.clone()); },
       "parameter b [2] f32 on rank 0, nothing more on rank 1"},
      {"one more",
       [&](ToyModule& m) { m.parameter("a", two.clone()), m.parameter("b", two.clone()), m.buffer("c", two.clone()); },
       "nothing more on rank 0, buffer c [2] f32 on rank 1"},
  };
  for (const Row& row : rows) {
    on_ranks(3, row.what, [&](Communicator& comm, Report& report) {
      ToyModule module;
      if (comm.rank() == 1) {
        row.other(module);
      } else {
        module.parameter("a", two.clone());
        module.parameter("b", two.clone());
      }
      report.expect_error<Error>(row.part, [&] { make_strategy("ddp", module, nullptr, comm, sgd()); });
    });
  }
}

TEST_CASE("settings that differ between ranks are refused at construction, by name, on every rank", "[dist]") {
  struct Row {
    std::function<void(OptimizerConfig&, ParallelOptions&)> other;  // what rank 2 has instead
    const char* part;
  };
  const std::vector<Row> rows{
      {[](OptimizerConfig& o, ParallelOptions&) { o.name = "sgd"; }, "the same, got name adamw on rank 0, name sgd on rank 2"},
      {[](OptimizerConfig& o, ParallelOptions&) { o.beta2 = 0.95; }, "beta2 0.999 on rank 0, beta2 0.95 on rank 2"},
      {[](OptimizerConfig& o, ParallelOptions&) { o.weight_decay = 0.1; },
       "weight_decay 0 on rank 0, weight_decay 0.1 on rank 2"},
      {[](OptimizerConfig& o, ParallelOptions&) { o.eps = std::nextafter(1e-8, 1.0); },
       "eps 1e-08 on rank 0, eps 1.0000000000000002e-08"},
      {[](OptimizerConfig&, ParallelOptions& p) { p.buckets.bytes = 64; },
       "others of 26214400 on rank 0, first bucket of 1048576 bytes, others of 64 on rank 2"},
      {[](OptimizerConfig&, ParallelOptions& p) { p.reduce_every_micro_batch = true; },
       "the same options, got reduce_every_micro_batch false on rank 0, reduce_every_micro_batch true on rank 2"},
      {[](OptimizerConfig&, ParallelOptions& p) { p.bf16_gradients = true; }, "bf16_gradients true on rank 2"},
      {[](OptimizerConfig&, ParallelOptions& p) { p.reshard_after_forward = false; }, "reshard_after_forward false on rank 2"},
  };
  for (const std::string& strategy : kStrategies) {
    for (const Row& row : rows) {
      on_ranks(3, strategy, [&](Communicator& comm, Report& report) {
        ToyModule module;
        module.parameter("a", floats({1, 2, 3}));
        OptimizerConfig optimizer;
        ParallelOptions options;
        if (comm.rank() == 2) {
          row.other(optimizer, options);
        }
        report.expect_error<Error>(row.part, [&] { make_strategy(strategy, module, nullptr, comm, optimizer, options); });
        comm.barrier();
      });
    }
  }
}
