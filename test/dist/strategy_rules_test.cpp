// What a strategy refuses: ranks that step differently, parameters that change sides, steps while others read.
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/reduce.h"
#include "dist/parameter_hash.h"
#include "test/dist/on_ranks.h"
#include "test/dist/train_gpt.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

void begin(Strategy& parallel, double max_norm = 0.0) {
  LossSum loss;
  loss += parallel.forward_backward({}, {});
  static_cast<void>(parallel.finish(loss, max_norm));
}

// body(strategy, a, b, rank, report) on three ranks, for every strategy: a is trained, b is frozen.
void for_each_strategy(const std::function<void(Strategy&, Var&, Var&, int, Report&)>& body) {
  for (const std::string& strategy : kStrategies) {
    on_ranks(3, strategy, [&](Communicator& comm, Report& report) {
      ToyModule module;
      Var a = module.parameter("a", floats({1, 2, 3})), b = module.frozen("b", floats({4, 5}));
      const auto loss = [&](const Tensor&, const Tensor&) { return TokenLoss{sum(a * a) + sum(b * b), 1}; };
      const auto parallel = make_strategy(strategy, module, loss, comm, {});
      body(*parallel, a, b, comm.rank(), report);
    });
  }
}

}  // namespace

TEST_CASE("ranks that step by other numbers are told so in the next finish, all of them", "[dist]") {
  for_each_strategy([](Strategy& parallel, Var&, Var&, int rank, Report& report) {
    report.expect_error<Error>("the same, got max_norm 1 on rank 0, max_norm 0.5 on rank 2",
                               [&] { begin(parallel, rank == 2 ? 0.5 : 1.0); });
    parallel.skip();
    begin(parallel);
    parallel.step(rank == 1 ? 1e-3 : 1e-2);
    report.expect_error<Error>("lr 0.01 of the update before on rank 0, lr 0.001 of the update before on rank 1",
                               [&] { begin(parallel); });
  });
}

TEST_CASE("a rank that gives a step up by itself is named when it is one ahead", "[dist]") {
  for_each_strategy([](Strategy& parallel, Var&, Var&, int rank, Report& report) {
    if (parallel.name().ends_with("sdp") || parallel.name() == "zero2") {
      return;  // there the others hear of it in the very next collective
    }
    if (rank != 1) {
      const auto guard = parallel.no_sync(true);
      static_cast<void>(parallel.forward_backward({}, {}));
    }
    parallel.skip();  // all together, though one had not begun
    begin(parallel);
    parallel.step(1e-2);
    if (rank == 1) {
      const auto guard = parallel.no_sync(true);
      static_cast<void>(parallel.forward_backward({}, {}));
      parallel.skip();
    }
    report.expect_error<Error>("in the same step, and give it the same, got step 3 on rank 0, step 4 on rank 1",
                               [&] { begin(parallel); });
  });
}

TEST_CASE("a parameter that is frozen, or no longer, after the strategy was made is refused by name", "[dist]") {
  for_each_strategy([](Strategy& parallel, Var& a, Var& b, int, Report& report) {
    const uint64_t before = parallel.parameter_hash();
    const size_t pieces = parallel.state().size();
    b.set_requires_grad(true);
    report.expect_error<Error>("parameter b was frozen when the strategy was made", [&] { begin(parallel); });
    report.expect(parallel.parameter_hash() == before && parallel.state().size() == pieces, "the state has lost it");
    b.set_requires_grad(false);
    a.set_requires_grad(false);
    report.expect_error<Error>("parameter a was trained when the strategy was made", [&] { begin(parallel); });
    report.expect(parallel.parameter_hash() == before && parallel.state().size() == pieces, "the state has it twice");
    a.set_requires_grad(true);
    begin(parallel);
    parallel.step(1e-2);
    report.expect(parallel.parameter_hash() != before, "it does not train any more");
  });
}

TEST_CASE("no step is taken while parameters are summoned, and reading ends in peace", "[dist]") {
  for_each_strategy([](Strategy& parallel, Var&, Var&, int, Report& report) {
    {
      const auto whole = parallel.summon();
      const auto again = parallel.summon();
      report.expect_error<Error>("forward_backward: the parameters are summoned", [&] { begin(parallel); });
      report.expect_error<Error>("finish: the parameters are summoned", [&] { static_cast<void>(parallel.finish({}, 0.0)); });
      report.expect_error<Error>("adopt_state: the parameters are summoned", [&] { parallel.adopt_state(1); });
      static_cast<void>(parallel.evaluate({}, {}));
    }
    begin(parallel);
    {
      report.expect_error<Error>("summon: parameters may be summoned between steps", [&] { const auto w = parallel.summon(); });
    }
    parallel.step(1e-2);
  });
}

TEST_CASE("a strategy that cannot be made leaves the model as it was", "[dist]") {
  for (const std::string& strategy : kStrategies) {
    on_ranks(2, strategy, [&](Communicator& comm, Report& report) {
      ToyModule module;
      const Var a = module.parameter("a", floats({1, 2, 3}));
      for (const OptimizerConfig& bad :
           {OptimizerConfig{.name = "adam"}, OptimizerConfig{.beta1 = 1.5}, OptimizerConfig{.eps = -1}}) {
        report.expect_error<Error>("", [&] { make_strategy(strategy, module, nullptr, comm, bad); });
        report.expect(a.data().to_vector() == std::vector<double>{1, 2, 3}, "it has lost its values");
      }
      static_cast<void>(make_strategy(strategy, module, nullptr, comm, {}));
    });
  }
}
