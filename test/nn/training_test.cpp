// A few steps of training on one rank, without a strategy: what nn and optim are together.
#include <cmath>
#include <limits>
#include <memory>

#include "nn/gpt.h"
#include "optim/adamw.h"
#include "test/nn/random_values.h"
#include "test/support/catch.h"

using namespace ringlet;

namespace {

double trained_step(Gpt& model, AdamW& adamw, const Tensor& tokens, const Tensor& targets) {
  adamw.zero_grad();
  const TokenLoss loss = model.loss(tokens, targets);
  backward(loss.sum);
  adamw.step(5e-3);
  return loss.sum.item();
}

}  // namespace

TEST_CASE("a mini-GPT learns the successor of a token: the loss falls at every step", "[nn]") {
  Gpt model({});
  AdamW adamw(decay_groups(0.0), slices_of(model.parameters()));
  Tensor tokens = Tensor::empty({4, 16}, DType::I32), targets = Tensor::empty({4, 16}, DType::I32);
  for (int32_t i = 0; i < 64; ++i) {  // one cycle through the vocabulary, 37 odd and so no divisor of 64
    tokens.mutable_data<int32_t>()[i] = i * 37 % 64;
    targets.mutable_data<int32_t>()[i] = (i + 1) * 37 % 64;
  }
  double previous = std::numeric_limits<double>::infinity();
  for (int step = 0; step < 20; ++step) {
    const double loss = trained_step(model, adamw, tokens, targets);
    CAPTURE(step);
    REQUIRE(loss < previous);
    previous = loss;
  }
  CHECK(previous / 64 < std::log(64.0) - 1.0);
}

TEST_CASE("after step 3 training asks the system for no memory, and its peak stays", "[nn]") {
  const auto allocator = std::make_shared<Allocator>();
  const AllocatorScope scope(allocator);
  Gpt model({.dropout = 0.1});
  AdamW adamw(decay_groups(0.1), slices_of(model.parameters()));
  const Tensor tokens = test::tokens(4, 16, 64);
  for (int step = 0; step < 3; ++step) {
    trained_step(model, adamw, tokens, tokens);
  }
  const MemoryLedger early = allocator->ledger();
  for (int step = 3; step < 20; ++step) {
    trained_step(model, adamw, tokens, tokens);
  }
  const MemoryLedger late = allocator->ledger();
  CHECK(late.arena_requests == early.arena_requests);
  for (const Category category : {Category::Parameters, Category::Gradients, Category::Optimizer, Category::Activations}) {
    CHECK(late.of(category).peak == early.of(category).peak);
    CHECK(late.of(category).live == early.of(category).live);
  }
  const int64_t parameter_bytes = model.parameter_count() * 4;
  CHECK(late.of(Category::Parameters).live == parameter_bytes);
  CHECK(late.of(Category::Gradients).peak == parameter_bytes);
  CHECK(late.of(Category::Optimizer).peak == 2 * parameter_bytes);
}
