// The gradient's norm over all shards, clipping, and gradients that are not finite.
#include <cmath>
#include <limits>

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/reduce.h"
#include "test/dist/toy_module.h"
#include "test/support/catch.h"
#include "test/support/report.h"
#include "test/support/run_ranks.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The loss is c·w summed, so every rank brings the gradient c; 4 ranks count 4 tokens as one: rank 0 alone counts.
struct Linear {
  Linear(Communicator& comm, const std::string& strategy, const std::vector<float>& initial, const OptimizerConfig& config)
      : w(module.parameter("w", floats(initial))),
        parallel(make_strategy(
            strategy, module,
            [this, &comm](const Tensor& c, const Tensor&) {
              return TokenLoss{sum(w * Var(c)), comm.rank() == 0 ? 1 : 0};
            },
            comm, config)) {}

  StepResult finish_with(const std::vector<float>& gradient, double max_norm) {
    LossSum loss;
    loss += parallel->forward_backward(floats(gradient), {});
    return parallel->finish(loss, max_norm);
  }

  ToyModule module;
  Var w;
  std::unique_ptr<Strategy> parallel;
};

std::vector<double> state_of(Strategy& parallel) {
  std::vector<double> values;
  for (const StatePiece& piece : parallel.state()) {
    for (const double value : piece.data.to_vector()) {
      values.push_back(value);
    }
  }
  return values;
}

}  // namespace

TEST_CASE("clipping uses the norm over all shards, not over the local one [E1]", "[dist]") {
  for (const std::string& strategy : kStrategies) {
    auto results = per_rank<StepResult>(4);
    auto values = per_rank<std::vector<double>>(4);
    run_ranks(4, [&](Communicator& comm) {
      const auto r = static_cast<size_t>(comm.rank());
      Linear model(comm, strategy, {0, 0, 0, 0}, sgd());
      const std::vector<float> whole{3, 4, 0, 0};
      std::vector<float> mine(4, 0.0F);
      mine[r] = whole[r];
      results[r] = model.finish_with(mine, 1.0);
      model.parallel->step(1.0);
      values[r] = values_of(*model.parallel, model.w);
    });
    for (size_t r = 0; r < 4; ++r) {
      CHECK(results[r].grad_norm == 5.0);
      CHECK(results[r].coefficient == 0.2);
      CHECK(values[r][0] == Approx(-0.6).epsilon(1e-7));
      CHECK(values[r][1] == Approx(-0.8).epsilon(1e-7));
      CHECK(values[r][2] == 0.0);
      CHECK(values[r][3] == 0.0);
    }
  }
}

TEST_CASE("a gradient that is not finite on one rank changes nothing anywhere, and all know [E3] [M1]", "[dist]") {
  struct Row {
    int rank;
    std::vector<float> gradient;  // that this rank brings; the others bring ones
  };
  // In ZeRO-1 on 4 ranks element i is in the shard of rank i / 2: faults in one's own shard, in another's, in the padding's
  // neighbour.
  const std::vector<Row> rows{{3, {kInf, 1, 1, 1, 1, 1, 1}},
                              {3, {1, 1, 1, 1, 1, 1, -kInf}},
                              {1, {1, 1, kNaN, 1, 1, 1, 1}},
                              {0, {1, 1, 1, 1, 1, 1, kNaN}},
                              {2, {3e38F, 3e38F, 1, 1, 1, 1, 1}}};
  for (const Row& row : rows) {
    for (const std::string& strategy : kStrategies) {
      auto reports = per_rank<Report>(4);
      run_ranks(4, [&](Communicator& comm) {
        Report& report = reports[static_cast<size_t>(comm.rank())];
        report.about(message("{}, rank {}", strategy, row.rank));
        Linear model(comm, strategy, {1, 2, 3, 4, 5, 6, 7}, {.weight_decay = 0.1});
        const std::vector<float> ones(7, 1.0F);
        static_cast<void>(model.finish_with(ones, 1.0));  // so that moments exist
        model.parallel->step(0.1);
        const std::vector<double> before = state_of(*model.parallel);
        const uint64_t hash = model.parallel->parameter_hash();

        // Two ranks of 3e38 overflow in the sum although each is finite.
        const bool faulty = comm.rank() == row.rank || (row.gradient[0] == 3e38F && comm.rank() == 3);
        const StepResult result = model.finish_with(faulty ? row.gradient : ones, 1.0);
        report.expect(!result.finite, "norm {} passes for finite", result.grad_norm);
        report.expect_error<Error>("must be finite; skip this step", [&] { model.parallel->step(0.1); });
        model.parallel->skip();
        report.expect(state_of(*model.parallel) == before, "the state has changed");
        report.expect(model.parallel->parameter_hash() == hash, "the parameters have changed");
        report.expect(model.parallel->updates() == 1, "{} updates are counted", model.parallel->updates());

        const StepResult next = model.finish_with(ones, 1.0);  // nothing is left over for the next step
        report.expect(next.finite && next.grad_norm == std::sqrt(7.0) * 4, "the next norm is {}", next.grad_norm);
        model.parallel->step(0.1);
        report.expect(model.parallel->replicas_equal(model.parallel->parameter_hash()), "replicas differ");
      });
      for (const Report& report : reports) {
        CHECK(report.failures() == std::vector<std::string>{});
      }
    }
  }
}

TEST_CASE("a loss that is NaN on one rank is NaN on all [M1]", "[dist]") {
  auto reports = per_rank<Report>(4);
  run_ranks(4, [&](Communicator& comm) {
    Linear model(comm, "zero1", {1, 2}, sgd());
    LossSum loss;
    const TokenSum term = model.parallel->forward_backward(floats({1, 1}), {});
    loss += TokenSum{comm.rank() == 3 ? std::nan("") : static_cast<double>(term.sum), term.count};
    const StepResult result = model.parallel->finish(loss, 1.0);
    reports[static_cast<size_t>(comm.rank())].expect(!result.finite && std::isnan(result.loss), "loss {}", result.loss);
  });
  for (const Report& report : reports) {
    CHECK(report.failures() == std::vector<std::string>{});
  }
}

TEST_CASE("gradients of zero have norm 0 and stay zero [E3]", "[dist]") {
  for (const std::string& strategy : kStrategies) {
    auto values = per_rank<std::vector<double>>(2);
    run_ranks(2, [&](Communicator& comm) {
      Linear model(comm, strategy, {1, 2, 3}, {});
      const StepResult result = model.finish_with({0, 0, 0}, 1.0);
      model.parallel->step(0.1);
      values[static_cast<size_t>(comm.rank())] = values_of(*model.parallel, model.w);
      values[static_cast<size_t>(comm.rank())].push_back(result.grad_norm);
    });
    CHECK(values[0] == std::vector<double>{1, 2, 3, 0});
    CHECK(values[1] == values[0]);
  }
}

TEST_CASE("weight decay asks for the shape of the whole parameter, also where a shard is flat [E5]", "[dist]") {
  for (const std::string& strategy : kStrategies) {
    for (const int ranks : {1, 2, 3}) {
      auto values = per_rank<std::vector<double>>(ranks);
      run_ranks(ranks, [&](Communicator& comm) {
        ToyModule module;
        const Var gain = module.parameter("gain", floats({1, 1, 1})),
                  weight = module.parameter("weight", Tensor::full({2, 2}, 1.0)),
                  bias = module.parameter("bias", floats({0.5}));
        const auto zero = [&](const Tensor&, const Tensor&) { return TokenLoss{sum(gain) * Var(floats({0})), 1}; };
        const auto parallel = make_strategy(strategy, module, zero, comm, {.weight_decay = 0.1});
        LossSum loss;
        loss += parallel->forward_backward({}, {});
        static_cast<void>(parallel->finish(loss, 0.0));
        parallel->step(0.1);
        for (const Var& var : {gain, weight, bias}) {
          for (const double value : values_of(*parallel, var)) {
            values[static_cast<size_t>(comm.rank())].push_back(value);
          }
        }
      });
      for (const auto& rank : values) {
        const double decayed = static_cast<double>(0.99F);
        CHECK(rank == std::vector<double>{1, 1, 1, decayed, decayed, decayed, decayed, 0.5});
      }
    }
  }
}
