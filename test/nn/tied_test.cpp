// Parameters that are used twice, and parameters that are not trained.
#include "autograd/ops/arithmetic.h"
#include "nn/gpt.h"
#include "optim/adamw.h"
#include "optim/sgd.h"
#include "test/nn/random_values.h"
#include "test/support/catch.h"

using namespace ringlet;

namespace {

Var find(const Module& model, const std::string& name) {
  for (const NamedParameter& parameter : model.parameters()) {
    if (parameter.name == name) {
      return parameter.var;
    }
  }
  return {};
}

}  // namespace

TEST_CASE("a variable used twice has one gradient, the sum of both uses, and is updated once [F1]", "[nn]") {
  Var w(Tensor::full({1}, 1.0), true);
  Sgd sgd(decay_groups(0.0), slices_of(std::vector<NamedParameter>{{"w", w}}));
  backward(w * 2.0 + w * 5.0);
  CHECK(w.grad().item() == 7.0);
  sgd.step(0.1);
  CHECK(w.item() == Approx(0.3).epsilon(1e-6));
}

TEST_CASE("a tied head is the embedding: its gradient is that of both, and its storage one [F1]", "[nn]") {
  GptConfig config{.tied_head = true, .dtype = DType::F64};
  Gpt tied(config);
  config.tied_head = false;
  Gpt untied(config);
  test::randomize(tied);
  test::randomize(untied);
  Tensor head = find(untied, "lm_head.weight").data();
  head.copy_from(find(untied, "wte.weight").data().transpose(0, 1));
  CHECK_FALSE(find(tied, "lm_head.weight").defined());
  CHECK(tied.parameter_count() == untied.parameter_count() - 64 * 32);

  const Tensor tokens = test::tokens(2, 16, 64), targets = test::tokens(2, 16, 64, "targets");
  const TokenLoss tied_loss = tied.loss(tokens, targets), untied_loss = untied.loss(tokens, targets);
  CHECK(tied_loss.sum.item() == Approx(untied_loss.sum.item()).epsilon(1e-14));
  backward(tied_loss.sum);
  backward(untied_loss.sum);
  const Tensor sum = find(tied, "wte.weight").grad();
  const Tensor embedding = find(untied, "wte.weight").grad(), projection = find(untied, "lm_head.weight").grad();
  for (int64_t v = 0; v < 64; ++v) {
    for (int64_t c = 0; c < 32; ++c) {
      REQUIRE(sum.at(v * 32 + c) == Approx(embedding.at(v * 32 + c) + projection.at(c * 64 + v)).margin(1e-12).epsilon(1e-10));
    }
  }
}

TEST_CASE("a frozen embedding keeps its bits while the rest trains [F6]", "[nn]") {
  Gpt model({});
  Var frozen = find(model, "wte.weight");
  frozen.set_requires_grad(false);
  const std::vector<double> before = frozen.data().to_vector(), head = find(model, "lm_head.weight").data().to_vector();
  AdamW adamw(decay_groups(0.1), slices_of(model.parameters()));
  CHECK(adamw.slices().size() == model.parameters().size() - 1);
  const Tensor tokens = test::tokens(2, 16, 64);
  for (int step = 0; step < 5; ++step) {
    adamw.zero_grad();
    backward(model.loss(tokens, tokens).sum);
    adamw.step(1e-3);
  }
  CHECK(frozen.data().to_vector() == before);
  CHECK(find(model, "lm_head.weight").data().to_vector() != head);
}
