#include "optim/adamw.h"

#include <cmath>
#include <limits>

#include "tensor/ops/random.h"
#include "test/support/catch.h"

using namespace ringlet;

namespace {

template <typename T>
ParamSlice scalar_slice(T w, T g, int group = 0) {
  return {"w", Tensor::from<T>({w}, {1}), Tensor::from<T>({g}, {1}), group};
}

// One parameter under the textbook's formulas, spelled with m̂ and v̂ (Loshchilov & Hutter, algorithm 2).
struct ScalarAdamW {
  double beta1, beta2, eps, weight_decay;
  double m = 0, v = 0, t = 0;

  double updated(double w, double g, double lr) {
    t += 1;
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    const double m_hat = m / (1 - std::pow(beta1, t)), v_hat = v / (1 - std::pow(beta2, t));
    return w - lr * m_hat / (std::sqrt(v_hat) + eps) - lr * weight_decay * w;
  }
};

// Grads 1, 1, 1, then moments and count written out, read into a new optimizer over a new copy of w, then grad -0.5.
template <typename T>
double resumed_after_three(bool restore_moments, bool restore_updates) {
  AdamW first({{"all", 0.0}}, {scalar_slice<T>(1, 1)});
  for (int i = 0; i < 3; ++i) {
    first.step(0.01);
  }
  AdamW second({{"all", 0.0}}, {scalar_slice<T>(static_cast<T>(first.slices()[0].value.item()), T(-0.5))});
  for (size_t kind = 0; restore_moments && kind < second.state_kinds().size(); ++kind) {
    second.state(kind, 0).copy_from(first.state(kind, 0));
  }
  second.set_updates(restore_updates ? first.updates() : 0);
  second.step(0.01);
  return second.slices()[0].value.item();
}

}  // namespace

TEMPLATE_TEST_CASE("AdamW goes on from restored moments and count as if it had never stopped [E7]", "[optim]", float, double) {
  // Moments are of order 1 and the steps .01: a few roundings of w near 1, and the 7 digits of the expected value.
  const double tolerance = 5e-8 + 4 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
  CHECK(std::abs(resumed_after_three<TestType>(true, true) - 0.9637438) < tolerance);
  CHECK(std::abs(resumed_after_three<TestType>(true, false) - 0.9592344) < tolerance);   // what forgetting the count gives
  CHECK(std::abs(resumed_after_three<TestType>(false, false) - 0.9800000) < tolerance);  // what forgetting all gives
}

TEST_CASE("weight decay shrinks matrices and leaves gains and biases alone [E5]", "[optim]") {
  const Tensor zeros = Tensor::zeros({4});
  const Var matrix(Tensor::full({2, 2}, 1.0), true), gain(Tensor::full({4}, 1.0), true), bias(Tensor::full({4}, 0.5), true);
  struct Named {
    std::string name;
    Var var;
  };
  AdamW adamw(decay_groups(0.1), slices_of(std::vector<Named>{{"weight", matrix}, {"gain", gain}, {"bias", bias}}));
  adamw.step(0.1);
  for (int64_t i = 0; i < 4; ++i) {
    CHECK(matrix.data().at(i) == Approx(0.99).epsilon(1e-7));
    CHECK(gain.data().at(i) == 1.0);
    CHECK(bias.data().at(i) == 0.5);
  }
}

TEST_CASE("a flat slice keeps the group that its matrix had, although its shape no longer says so [E5]", "[optim]") {
  const Tensor flat = Tensor::full({6}, 1.0), grad = Tensor::zeros({6});
  AdamW adamw(decay_groups(0.1), {{"weight", flat.narrow(0, 0, 4), grad.narrow(0, 0, 4), kDecayGroup},
                                  {"bias", flat.narrow(0, 4, 2), grad.narrow(0, 4, 2), kNoDecayGroup}});
  adamw.step(0.1);
  CHECK(flat.at(3) == Approx(0.99).epsilon(1e-7));
  CHECK(flat.at(4) == 1.0);
}

TEST_CASE("the decay is decoupled: it does not pass through the moments", "[optim]") {
  AdamW adamw({{"all", 0.5}}, {scalar_slice<double>(2.0, 0.0)});
  adamw.step(0.1);
  CHECK(adamw.state(0, 0).item() == 0.0);
  CHECK(adamw.state(1, 0).item() == 0.0);
  CHECK(adamw.slices()[0].value.item() == Approx(2.0 * (1 - 0.1 * 0.5)).epsilon(1e-15));
}

TEST_CASE("100 steps of AdamW in f64 follow the textbook's formulas, element by element", "[optim]") {
  constexpr int64_t kElements = 37;
  const AdamWConfig config{.beta1 = 0.9, .beta2 = 0.99, .eps = 1e-6};
  Tensor w = Tensor::empty({kElements}, DType::F64), g = Tensor::empty({kElements}, DType::F64);
  fill_normal(w, RandomStream(1, "weights"), 0.0, 1.0);
  std::vector<double> reference = w.to_vector();
  std::vector<ScalarAdamW> scalar(kElements, {config.beta1, config.beta2, config.eps, 0.1});
  AdamW adamw({{"all", 0.1}}, {{"w", w, g, 0}}, config);
  for (int step = 0; step < 100; ++step) {
    fill_normal(g, RandomStream(2, "gradients", static_cast<uint64_t>(step)), 0.1, 1.0);
    adamw.step(0.01);
    for (int64_t i = 0; i < kElements; ++i) {
      double& expected = reference[static_cast<size_t>(i)];
      expected = scalar[static_cast<size_t>(i)].updated(expected, g.at(i), 0.01);
      // At most some ten roundings of numbers below 4 in each of the steps so far.
      REQUIRE(std::abs(w.at(i) - expected) < (step + 1) * 10 * 4 * std::numeric_limits<double>::epsilon());
    }
  }
  CHECK(adamw.updates() == 100);
}

TEST_CASE("gradients that are zero move nothing, and give no NaN [E3]", "[optim]") {
  AdamW adamw({{"all", 0.0}}, {scalar_slice<float>(0.25F, 0.0F)});
  for (int i = 0; i < 3; ++i) {
    adamw.step(0.1);
  }
  CHECK(adamw.slices()[0].value.item() == 0.25);
}

TEST_CASE("AdamW refuses settings that its formulas cannot take", "[optim]") {
  const auto made = [](const AdamWConfig& config) { AdamW({{"all", 0.0}}, {scalar_slice<float>(1, 1)}, config); };
  CHECK_THROWS_AS(made({.beta1 = 1.0}), Error);
  CHECK_THROWS_AS(made({.beta1 = -0.1}), Error);
  CHECK_THROWS_AS(made({.beta2 = 1.0}), Error);
  CHECK_THROWS_AS(made({.eps = 0.0}), Error);
  CHECK_THROWS_AS(made({.eps = std::nan("")}), Error);
  CHECK_THROWS_AS(made({.eps = 1e-44}), Error);  // 0 in f32, times √(1 − β₂): then 0/0 for a gradient of 0
  CHECK_NOTHROW(made({}));
  CHECK_NOTHROW(made({.eps = 1e-40}));
  for (const double decay : {std::nan(""), double(INFINITY), -1.0}) {
    CHECK_THROWS_AS(AdamW({{"all", decay}}, {scalar_slice<float>(1, 1)}), Error);
  }
}

TEST_CASE("the smallest eps that is taken moves nothing where there is no gradient [E3]", "[optim]") {
  AdamW adamw({{"all", 0.0}}, {scalar_slice<float>(0.25F, 0.0F)}, {.eps = 1e-40});
  adamw.step(0.1);
  CHECK(adamw.slices()[0].value.item() == 0.25);
}

TEST_CASE("a learning rate that is negative or no number changes nothing", "[optim]") {
  AdamW adamw({{"all", 0.0}}, {scalar_slice<float>(0.25F, 1.0F)});
  for (const double lr : {std::nan(""), -1e-3}) {
    CHECK_THROWS_WITH(adamw.step(lr), Catch::Matchers::Contains("step: the learning rate must be 0 or more, got "));
  }
  CHECK(adamw.slices()[0].value.item() == 0.25);
  CHECK(adamw.updates() == 0);
}
