#include "nn/loss.h"

#include <cmath>

#include "nn/gpt.h"
#include "tensor/ops/cross_entropy.h"
#include "test/nn/random_values.h"
#include "test/support/catch.h"

using namespace ringlet;

TEST_CASE("sums and counts of micro-batches add up to the loss of one batch [A1]", "[nn]") {
  const int32_t no = kIgnoreIndex;
  const Var one(Tensor::from<double>({0, 3, 0, 0, 0, 0, 0, 0}, {1, 4, 2}), true),
      two(Tensor::zeros({1, 4, 2}, DType::F64), true);
  const TokenLoss first = token_loss(one, Tensor::from<int32_t>({0, no, no, no}, {1, 4}));
  const TokenLoss second = token_loss(two, Tensor::from<int32_t>({0, 0, 0, 0}, {1, 4}));
  CHECK(first.count == 1);
  CHECK(second.count == 4);
  const double mean = (first.sum.item() + second.sum.item()) / static_cast<double>(first.count + second.count);
  CHECK(std::abs(mean - 1.1642352) < 5e-8);  // 1.8708673: the mean of the means

  const Var both(Tensor::from<double>({0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {2, 4, 2}), true);
  const TokenLoss whole = token_loss(both, Tensor::from<int32_t>({0, no, no, no, 0, 0, 0, 0}, {2, 4}));
  CHECK(whole.count == 5);
  CHECK(whole.sum.item() == Approx(first.sum.item() + second.sum.item()).epsilon(1e-15));
  backward(first.sum);
  backward(second.sum);
  backward(whole.sum);
  std::vector<double> parts = one.grad().to_vector();
  const std::vector<double> rest = two.grad().to_vector();
  parts.insert(parts.end(), rest.begin(), rest.end());
  CHECK(both.grad().to_vector() == parts);
}

TEST_CASE("where every label is ignored the sum is 0, the count 0, and every gradient exactly 0 [B1]", "[nn]") {
  for (const bool tied : {false, true}) {
    Gpt model({.tied_head = tied});
    const TokenLoss loss = model.loss(test::tokens(2, 16, 64), [] {
      Tensor ignored = Tensor::empty({2, 16}, DType::I32);
      ignored.fill(kIgnoreIndex);
      return ignored;
    }());
    CHECK(loss.sum.item() == 0.0);
    CHECK(loss.count == 0);
    backward(loss.sum);
    for (const NamedParameter& parameter : model.parameters()) {
      CAPTURE(parameter.name);
      REQUIRE(parameter.var.grad().defined());
      for (const double value : parameter.var.grad().to_vector()) {
        REQUIRE(value == 0.0);
      }
    }
  }
}

TEST_CASE("a shard without a counted token adds nothing to one that has some [B1]", "[nn]") {
  const Var ignored(Tensor::zeros({1, 4, 2}, DType::F64), true), counted(Tensor::zeros({1, 4, 2}, DType::F64), true);
  Tensor none = Tensor::empty({1, 4}, DType::I32);
  none.fill(kIgnoreIndex);
  const TokenLoss r0 = token_loss(ignored, none), r1 = token_loss(counted, Tensor::zeros({1, 4}, DType::I32));
  CHECK((r0.sum.item() + r1.sum.item()) / static_cast<double>(r0.count + r1.count) == Approx(0.6931472).epsilon(1e-7));
}

TEST_CASE("large logits give the loss and the gradient of the formula [B2]", "[nn]") {
  const Var far(Tensor::from<float>({-400, 250, 500}, {1, 1, 3}), true);
  const TokenLoss loss = token_loss(far, Tensor::zeros({1, 1}, DType::I32));
  CHECK(loss.sum.item() == 900.0);
  backward(loss.sum);
  CHECK(far.grad().to_vector() == std::vector<double>{-1, 0, 1});
}
