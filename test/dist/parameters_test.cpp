// Tied, duplicate, unused and frozen parameters; replicas that start out different.
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/reduce.h"
#include "dist/parameter_hash.h"
#include "test/dist/train_gpt.h"
#include "test/support/catch.h"
#include "test/support/report.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

void step_once(Strategy& parallel, const Tensor& tokens, double lr) {
  LossSum loss;
  loss += parallel.forward_backward(tokens, {});
  static_cast<void>(parallel.finish(loss, 0.0));
  parallel.step(lr);
}

}  // namespace

TEST_CASE("a parameter used twice and registered twice has one state and the sum of both gradients [F1] [F3]", "[dist]") {
  for (const std::string& strategy : kStrategies) {
    for (const int ranks : {1, 2, 4}) {
      auto w = per_rank<double>(ranks), count = per_rank<double>(ranks);
      run_ranks(ranks, [&](Communicator& comm) {
        ToyModule module;
        const Var weight = module.parameter("w", floats({1}));
        module.parameter("again", weight);
        const auto parallel = make_strategy(
            strategy, module,
            [&](const Tensor&, const Tensor&) {
              return TokenLoss{sum(weight * Var(floats({2})) + weight * Var(floats({5}))), 1};
            },
            comm, sgd());
        step_once(*parallel, {}, 0.1);
        w[static_cast<size_t>(comm.rank())] = values_of(*parallel, weight)[0];
        count[static_cast<size_t>(comm.rank())] = static_cast<double>(parallel->parameter_count());
      });
      for (int r = 0; r < ranks; ++r) {
        INFO(strategy << " on " << ranks << " ranks");
        CHECK(w[static_cast<size_t>(r)] == Approx(0.3).epsilon(1e-6));
        CHECK(count[static_cast<size_t>(r)] == 1);
      }
    }
  }
}

TEST_CASE("the tied head stays the token embedding through training: one tensor [F1]", "[dist]") {
  run_ranks(1, [&](Communicator& comm) {
    const TrainOptions options{.steps = 20, .tied_head = true};
    Gpt model(tiny_gpt(options));
    const auto strategy = make_strategy("zero1", model, comm, options.optimizer);
    for (int64_t step = 0; step < options.steps; ++step) {
      train_step(*strategy, model, comm, options, step);
    }
    int heads = 0;
    for (const StatePiece& piece : strategy->state()) {
      heads += piece.name == "lm_head.weight" ? 1 : 0;
    }
    CHECK(heads == 0);
    CHECK(strategy->parameter_count() == tiny_gpt(options).parameter_count());
  });
}

TEST_CASE("a branch used on one rank only contributes its part, an unused one zeros, and nobody waits [F4]", "[dist]") {
  for (const std::string& strategy : kStrategies) {
    auto used = per_rank<double>(2), unused = per_rank<double>(2);
    run_ranks(2, [&](Communicator& comm) {
      ToyModule module;
      const Var always = module.parameter("always", floats({0})), branch = module.parameter("branch", floats({0})),
                never = module.parameter("never", floats({3}));
      const auto parallel = make_strategy(
          strategy, module,
          [&](const Tensor&, const Tensor&) {
            const Var loss = sum(always * Var(floats({1})));
            return TokenLoss{comm.rank() == 0 ? loss + sum(branch * Var(floats({4}))) : loss, 1};
          },
          comm, sgd());
      step_once(*parallel, {}, 1.0);
      used[static_cast<size_t>(comm.rank())] = values_of(*parallel, branch)[0];
      unused[static_cast<size_t>(comm.rank())] = values_of(*parallel, never)[0];
    });
    CHECK(used == std::vector<double>{-2, -2});
    CHECK(unused == std::vector<double>{3, 3});
  }
}

TEST_CASE("ranks that call parameters in different orders still add like to like [H8]", "[dist]") {
  for (const std::string& strategy : kStrategies) {
    auto values = per_rank<std::vector<double>>(2);
    run_ranks(2, [&](Communicator& comm) {
      ToyModule module;
      const Var a = module.parameter("a", floats({0, 0})), b = module.parameter("b", floats({0, 0}));
      const Var ca(floats({1, 2})), cb(floats({10, 20}));
      const auto parallel = make_strategy(
          strategy, module,
          [&](const Tensor&, const Tensor&) {
            return TokenLoss{comm.rank() == 0 ? sum(a * ca) + sum(b * cb) : sum(b * cb) + sum(a * ca), 1};
          },
          comm, sgd());
      step_once(*parallel, {}, 1.0);
      auto& mine = values[static_cast<size_t>(comm.rank())];
      mine = values_of(*parallel, a);
      for (const double value : values_of(*parallel, b)) {
        mine.push_back(value);
      }
    });
    CHECK(values[0] == std::vector<double>{-1, -2, -10, -20});
    CHECK(values[1] == values[0]);
  }
}

TEST_CASE("parameters that would come apart, or cannot be held, are refused by name [F1] [F3] [H5]", "[dist]") {
  struct Row {
    std::function<void(ToyModule&)> fill;
    const char* message;
  };
  const Tensor two = floats({1, 2}), wide = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const std::vector<Row> rows{
      {[&](ToyModule& m) { m.parameter("a", Var(two, true)), m.parameter("b", Var(two, true)); },
       "parameter a and parameter b share elements"},
      {[&](ToyModule& m) {
         m.parameter("a", Var(wide.narrow(0, 0, 2), true)), m.parameter("b", Var(wide.narrow(1, 1, 2), true));
       },
       "parameter a and parameter b share elements"},
      {[&](ToyModule& m) { m.parameter("a", Var(two, true)), m.buffer("b", two); }, "parameter a and buffer b share elements"},
      {[&](ToyModule& m) { m.parameter("a", two.clone()), m.buffer("b", wide.transpose(0, 1)); },
       "buffer b is not trained and must be"},
      {[&](ToyModule& m) { m.parameter("a", two.clone()), m.frozen("f", wide.transpose(0, 1)); },
       "parameter f is not trained and must"},
      {[&](ToyModule& m) { m.parameter("a", Var(floats({1}).expand({3}), true)); },
       "the elements of parameter a must be its own"},
      {[&](ToyModule& m) { m.frozen("f", two.clone()); }, "must have a trainable parameter, got 1 frozen ones"},
      {[&](ToyModule&) {}, "must have a trainable parameter, got 0 frozen ones"},
  };
  for (const std::string& strategy : kStrategies) {
    run_ranks(1, [&](Communicator& comm) {
      for (const Row& row : rows) {
        ToyModule module;
        row.fill(module);
        INFO(strategy);
        CHECK_THROWS_WITH(make_strategy(strategy, module, nullptr, comm, sgd()), Catch::Matchers::Contains(row.message));
      }
      ToyModule module;  // disjoint parts of one memory are welcome
      module.parameter("a", Var(wide.narrow(0, 0, 1), true)), module.parameter("b", Var(wide.narrow(0, 1, 1), true));
      const auto parallel = make_strategy(strategy, module, nullptr, comm, sgd());
      CHECK_THROWS_WITH(parallel->forward_backward({}, {}), Catch::Matchers::Contains("must be made with a loss"));
    });
  }
}

TEST_CASE("a parameter that was pointed elsewhere after the strategy took it is an error, not a standstill", "[dist]") {
  for (const std::string& strategy : kStrategies) {
    run_ranks(1, [&](Communicator& comm) {
      ToyModule module;
      Var w = module.parameter("w", floats({1, 2}));
      const auto loss = [&](const Tensor&, const Tensor&) { return TokenLoss{sum(w), 1}; };
      const auto parallel = make_strategy(strategy, module, loss, comm, sgd());
      step_once(*parallel, {}, 0.1);
      w.set_data(floats({7, 7}));
      INFO(strategy);
      CHECK_THROWS_WITH(parallel->forward_backward({}, {}), Catch::Matchers::Contains("parameter w must stay in the memory"));
    });
  }
}

TEST_CASE("parameters and buffers of rank 0 become everybody's at construction [G4]", "[dist]") {
  for (const std::string& strategy : kStrategies) {
    auto values = per_rank<std::vector<double>>(4);
    run_ranks(4, [&](Communicator& comm) {
      const auto r = static_cast<float>(comm.rank());
      ToyModule module;
      const Var weight = module.parameter("w", floats({r, r + 1, r + 2})), fixed = module.frozen("f", floats({r}));
      Tensor buffer = module.buffer("running", Tensor::from<int64_t>({comm.rank(), 7}, {2}));
      const auto parallel = make_strategy(strategy, module, nullptr, comm, sgd());
      const auto whole = parallel->summon();
      for (const Tensor& tensor : {weight.data(), fixed.data(), buffer}) {
        for (const double value : tensor.to_vector()) {
          values[static_cast<size_t>(comm.rank())].push_back(value);
        }
      }
    });
    for (const auto& rank : values) {
      CHECK(rank == std::vector<double>{0, 1, 2, 0, 0, 7});
    }
  }
}

TEST_CASE("a frozen parameter among trainable ones does not move, has no state, and the others train as ever [F6]", "[dist]") {
  std::vector<double> expected;
  for (const std::string& strategy : kStrategies) {
    for (const int ranks : {1, 4}) {
      auto moved = per_rank<std::vector<double>>(ranks);
      auto reports = per_rank<Report>(ranks);
      run_ranks(ranks, [&](Communicator& comm) {
        const auto r = static_cast<size_t>(comm.rank());
        const TrainOptions options{.micro_batches = 4, .steps = 20};
        Gpt model(tiny_gpt(options));
        Var wte = model.parameters().front().var;
        wte.set_requires_grad(false);
        const uint64_t before = parameter_hash("wte", 0, wte.data());
        const auto parallel = make_strategy(strategy, model, comm, options.optimizer);
        for (int64_t step = 0; step < options.steps; ++step) {
          train_step(*parallel, model, comm, options, step);
        }
        reports[r].expect(model.parameters().front().name == "wte.weight", "another parameter comes first");
        reports[r].expect(parameter_hash("wte", 0, wte.data()) == before, "wte has moved");
        for (const StatePiece& piece : parallel->state()) {
          reports[r].expect(piece.name != "wte.weight" || piece.kind == "frozen", "wte has a state {}", piece.kind);
        }
        moved[r] = values_of(*parallel, model.parameters()[1].var);
      });
      for (size_t r = 0; r < moved.size(); ++r) {
        CHECK(reports[r].failures() == std::vector<std::string>{});
        expected = expected.empty() ? moved[r] : expected;
        CHECK(moved[r] == expected);
      }
    }
  }
}
