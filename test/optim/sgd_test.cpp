#include "optim/sgd.h"

#include "optim/clip.h"
#include "tensor/ops/arithmetic.h"
#include "test/support/catch.h"

using namespace ringlet;

namespace {

struct Row {
  const char* what;
  SgdConfig config;
  double weight_decay;
  double expected[3];  // w after each of three updates, from w = 1 with gradients 1, 2, 4 and η = 1/8: exact in binary
};

}  // namespace

TEST_CASE("SGD takes the steps that its formula says", "[optim]") {
  const Row rows[] = {
      {"plain", {}, 0.0, {0.875, 0.625, 0.125}},
      // d = 1+.5·1 = 1.5; 2+.5·.8125 = 2.40625; 4+.5·.51171875 = 4.255859375
      {"decay", {}, 0.5, {0.8125, 0.51171875, -0.020263671875}},
      // b = 1; .5+2 = 2.5; 1.25+4 = 5.25
      {"momentum", {.momentum = 0.5}, 0.0, {0.875, 0.5625, -0.09375}},
      // b = 1 (undamped); .5+1 = 1.5; .75+2 = 2.75
      {"dampening", {.momentum = 0.5, .dampening = 0.5}, 0.0, {0.875, 0.6875, 0.34375}},
      // d + μ·b = 1.5; 2+1.25 = 3.25; 4+2.625 = 6.625
      {"nesterov", {.momentum = 0.5, .nesterov = true}, 0.0, {0.8125, 0.40625, -0.421875}},
  };
  for (const Row& row : rows) {
    Tensor w = Tensor::full({1}, 1.0), g = Tensor::zeros({1});
    Sgd sgd({{"all", row.weight_decay}}, {{"w", w, g, 0}}, row.config);
    for (int step = 0; step < 3; ++step) {
      g.fill(1 << step);
      sgd.step(0.125);
      CAPTURE(row.what, step);
      CHECK(w.item() == row.expected[step]);
    }
    CHECK(sgd.updates() == 3);
    CHECK(sgd.state_kinds().size() == (row.config.momentum > 0.0 ? 1 : 0));
  }
}

TEST_CASE("weight decay of SGD follows the groups [E5]", "[optim]") {
  const Tensor weight = Tensor::full({2, 2}, 1.0), bias = Tensor::full({2}, 0.5);
  Sgd sgd(decay_groups(0.1), {{"weight", weight, Tensor::zeros({2, 2}), decays(weight.shape()) ? kDecayGroup : kNoDecayGroup},
                              {"bias", bias, Tensor::zeros({2}), decays(bias.shape()) ? kDecayGroup : kNoDecayGroup}});
  sgd.step(0.1);
  CHECK(weight.at(0) == Approx(0.99).epsilon(1e-7));
  CHECK(bias.at(0) == 0.5);
}

TEST_CASE("a window of gradients that is not full is divided by what it holds [A3]", "[optim]") {
  Tensor w = Tensor::zeros({1}), g = Tensor::zeros({1});
  Sgd sgd({{"all", 0.0}}, {{"w", w, g, 0}});
  const std::vector<std::vector<double>> windows = {{1, 2}, {3, 4}, {5}};
  for (const auto& window : windows) {
    sgd.zero_grad();
    for (const double gradient : window) {
      add_into(g, Tensor::full({1}, gradient));
    }
    scale_gradients(sgd.slices(), 1.0 / static_cast<double>(window.size()));
    sgd.step(1.0);
  }
  CHECK(w.item() == -10.0);  // -7.5: the tail divided by 2; -5: the tail dropped
  CHECK(sgd.updates() == 3);
}

TEST_CASE("SGD refuses settings that its formulas cannot take", "[optim]") {
  const auto made = [](const SgdConfig& config) { Sgd({{"all", 0.0}}, {}, config); };
  CHECK_THROWS_AS(made({.momentum = 1.0}), Error);
  CHECK_THROWS_AS(made({.momentum = -0.5}), Error);
  CHECK_THROWS_AS(made({.momentum = 0.5, .dampening = 2.0}), Error);
  CHECK_THROWS_WITH(made({.nesterov = true}), Catch::Matchers::Contains("nesterov needs momentum"));
  CHECK_THROWS_AS(made({.momentum = 0.5, .dampening = 0.5, .nesterov = true}), Error);
}
