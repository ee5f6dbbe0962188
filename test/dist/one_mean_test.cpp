// One meaning of the mean: sums over tokens, divided once by the count of the whole global batch.
#include <cmath>
#include <cstring>

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/cross_entropy.h"
#include "autograd/ops/embedding.h"
#include "autograd/ops/reduce.h"
#include "test/dist/toy_module.h"
#include "test/support/catch.h"
#include "test/support/run_ranks.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

constexpr int32_t kIgnored = static_cast<int32_t>(kIgnoreIndex);

// Logits are a parameter times the input: with w = 1 the input is the logits.
struct ScaledLogits {
  explicit ScaledLogits(Communicator& comm, const std::string& strategy)
      : w(module.parameter("w", floats({1}))), parallel(make_strategy(strategy, module, loss(), comm, sgd())) {}

  LossFunction loss() {
    return [this](const Tensor& logits, const Tensor& targets) {
      const SummedLoss summed = cross_entropy(w * Var(logits), targets);
      return TokenLoss{summed.sum, summed.count};
    };
  }

  ToyModule module;
  Var w;
  std::unique_ptr<Strategy> parallel;
};

Tensor logits_of(const std::vector<float>& values) {
  return Tensor::from(values, {1, static_cast<int64_t>(values.size()) / 2, 2});
}
Tensor labels_of(const std::vector<int32_t>& values) { return Tensor::from(values, {1, static_cast<int64_t>(values.size())}); }

// Loss = w·x summed over the tokens x, so the gradient of w is the mean of x.
struct Slope {
  explicit Slope(Communicator& comm, const std::string& strategy)
      : w(module.parameter("w", floats({0}))),
        parallel(make_strategy(
            strategy, module,
            [this](const Tensor& x, const Tensor&) {
              return TokenLoss{sum(w * Var(x)), x.numel()};
            },
            comm, sgd())) {}

  ToyModule module;
  Var w;
  std::unique_ptr<Strategy> parallel;
};

struct Seen {
  double loss = 0, norm = 0, w = 0;
  std::vector<double> gradient;
};

}  // namespace

TEST_CASE("micro-batches with different counts weigh by their tokens, on one rank and on two [A1]", "[dist]") {
  const Tensor few = logits_of({0, 3, 0, 0, 0, 0, 0, 0}), many = logits_of({0, 0, 0, 0, 0, 0, 0, 0});
  const Tensor one = labels_of({0, kIgnored, kIgnored, kIgnored}), four = labels_of({0, 0, 0, 0});
  for (const std::string& strategy : kStrategies) {
    for (const int ranks : {1, 2}) {
      auto seen = per_rank<Seen>(ranks);
      run_ranks(ranks, [&](Communicator& comm) {
        ScaledLogits model(comm, strategy);
        LossSum loss;
        if (ranks == 1) {
          const auto local = model.parallel->no_sync(true);
          loss += model.parallel->forward_backward(few, one);
        }
        const bool second = ranks == 1 || comm.rank() == 1;
        loss += model.parallel->forward_backward(second ? many : few, second ? four : one);
        const StepResult result = model.parallel->finish(loss, 0.0);
        seen[static_cast<size_t>(comm.rank())] = {result.loss, result.grad_norm, 0, {}};
      });
      for (const Seen& rank : seen) {
        INFO(strategy << " on " << ranks << " ranks");
        CHECK(rank.loss == Approx(1.1642352).margin(1e-7));
        // d/dw of −log softmax(w·(0, 3))₀ is 3·σ(3w); the four tokens of logits (0, 0) add nothing.
        CHECK(rank.norm == Approx(3 / (1 + std::exp(-3.0)) / 5).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("every rank steps on the mean of all micro-batches of all ranks [A4]", "[dist]") {
  for (const std::string& strategy : kStrategies) {
    auto seen = per_rank<Seen>(2);
    run_ranks(2, [&](Communicator& comm) {
      Slope model(comm, strategy);
      const std::vector<float> mine = comm.rank() == 0 ? std::vector<float>{1, 2} : std::vector<float>{5, 7};
      LossSum loss;
      for (int micro = 0; micro < 2; ++micro) {
        const auto local = model.parallel->no_sync(micro == 0);
        loss += model.parallel->forward_backward(floats({mine[static_cast<size_t>(micro)]}), {});
      }
      const StepResult result = model.parallel->finish(loss, 0.0);
      model.parallel->step(1.0);
      seen[static_cast<size_t>(comm.rank())] = {result.loss, result.grad_norm, values_of(*model.parallel, model.w)[0], {}};
    });
    for (const Seen& rank : seen) {
      CHECK(rank.norm == 3.75);
      CHECK(rank.w == -3.75);
    }
  }
}

TEST_CASE("a micro-batch after the one that communicates is refused, and so are steps out of order [A4]", "[dist]") {
  run_ranks(1, [&](Communicator& comm) {
    Slope model(comm, "ddp");
    std::string texts[4];
    const auto text_of = [](const std::function<void()>& action) {
      try {
        action();
        return std::string("nothing");
      } catch (const Error& error) {
        return std::string(error.what());
      }
    };
    const auto forward_backward = [&] { model.parallel->forward_backward(floats({1}), {}); };
    texts[0] = text_of([&] { model.parallel->step(1.0); });
    forward_backward();
    texts[1] = text_of(forward_backward);
    static_cast<void>(model.parallel->finish({}, 0.0));
    texts[2] = text_of(forward_backward);
    texts[3] = text_of([&] { static_cast<void>(model.parallel->finish({}, 0.0)); });
    CHECK(texts[0].find("step: finish must come first") == 0);
    CHECK(texts[1].find("gradient is communicated") != std::string::npos);
    CHECK(texts[2].find("gradient is finished") != std::string::npos);
    CHECK(texts[3].find("finish: this step is finished already") == 0);
  });
}

TEST_CASE("a rank whose labels are all ignored adds nothing; if all are, nothing changes [B1]", "[dist]") {
  const Tensor logits = logits_of({0, 0, 0, 0, 0, 0, 0, 0});
  const Tensor ignored = labels_of({kIgnored, kIgnored, kIgnored, kIgnored}), counted = labels_of({0, 0, 0, 0});
  for (const std::string& strategy : kStrategies) {
    auto seen = per_rank<Seen>(2), nobody = per_rank<Seen>(2);
    run_ranks(2, [&](Communicator& comm) {
      ScaledLogits model(comm, strategy);
      const auto r = static_cast<size_t>(comm.rank());
      LossSum loss;
      {
        const auto local = model.parallel->no_sync(true);  // to see this rank's own gradient
        loss += model.parallel->forward_backward(logits, r == 0 ? ignored : counted);
      }
      seen[r].gradient = model.w.grad().to_vector();
      const StepResult result = model.parallel->finish(loss, 0.0);
      seen[r].loss = result.loss;
      model.parallel->skip();

      LossSum none;
      none += model.parallel->forward_backward(logits, ignored);
      const StepResult empty = model.parallel->finish(none, 1.0);
      model.parallel->step(0.1);
      nobody[r] = {empty.loss,
                   empty.grad_norm,
                   values_of(*model.parallel, model.w)[0],
                   {static_cast<double>(empty.tokens + model.parallel->updates())}};
    });
    CHECK(seen[0].gradient == std::vector<double>{0.0});
    for (size_t r = 0; r < 2; ++r) {
      CHECK(seen[r].loss == Approx(0.6931472).margin(1e-7));
      CHECK(nobody[r].loss == 0.0);
      CHECK(nobody[r].norm == 0.0);
      CHECK(nobody[r].w == 1.0);
      CHECK(nobody[r].gradient[0] == 0.0);  // no token was counted, no update was made
    }
  }
}

TEST_CASE("rows looked up on two ranks get the mean of both contributions [D3]", "[dist]") {
  for (const std::string& strategy : kStrategies) {
    auto rows = per_rank<std::vector<double>>(2);
    run_ranks(2, [&](Communicator& comm) {
      ToyModule module;
      const Var table = module.parameter("table", Tensor::zeros({4, 2}));
      const auto parallel = make_strategy(
          strategy, module,
          [&](const Tensor& ids, const Tensor&) {
            return TokenLoss{sum(embedding(table, ids)), 1};
          },
          comm, sgd());
      const Tensor ids = comm.rank() == 0 ? Tensor::from<int32_t>({2, 2}, {2}) : Tensor::from<int32_t>({0, 2}, {2});
      LossSum loss;
      loss += parallel->forward_backward(ids, {});
      static_cast<void>(parallel->finish(loss, 0.0));
      parallel->step(1.0);
      rows[static_cast<size_t>(comm.rank())] = values_of(*parallel, table);
    });
    for (const auto& row : rows) {
      CHECK(row == std::vector<double>{-0.5, -0.5, 0, 0, -1.5, -1.5, 0, 0});
    }
  }
}
