#include "apps/training/evaluate.h"

#include <cmath>
#include <numeric>

#include "apps/training/sample.h"
#include "collectives/backends/local.h"
#include "dist/make_strategy.h"
#include "nn/gpt.h"
#include "test/support/catch.h"
#include "test/support/run_ranks.h"

using namespace ringlet;

TEST_CASE("[N1] ten batches with losses 1 to 10 have the mean 5.5 on any number of ranks", "[evaluate]") {
  for (const int P : {1, 2, 3, 4, 8, 12}) {
    std::vector<double> means(static_cast<size_t>(P));
    std::vector<int> calls(static_cast<size_t>(P));
    test::run_ranks(P, [&](Communicator& world) {
      const auto r = static_cast<size_t>(world.rank());
      means[r] = evaluate(
          10,
          [&](int64_t batch) {
            ++calls[r];
            return TokenSum{.sum = static_cast<double>(batch + 1), .count = 1};
          },
          world);
    });
    CHECK(means == std::vector<double>(means.size(), 5.5));
    CHECK(calls == std::vector<int>(calls.size(), (10 + P - 1) / P));  // equally often on every rank
  }
}

TEST_CASE("evaluation weighs batches by their counted tokens; without any it is NaN", "[evaluate]") {
  const auto world = make_local();
  const auto loss_of = [](int64_t batch) { return batch == 0 ? TokenSum{10.0, 1} : TokenSum{6.0, 3}; };
  CHECK(evaluate(2, loss_of, *world) == 4.0);
  CHECK(std::isnan(evaluate(0, loss_of, *world)));
}

TEST_CASE("the held-out loss counts every token once, has the same bits on any number of ranks, and leaves the model as it was",
          "[evaluate]") {
  constexpr int64_t kTokens = 100;  // 99 targets: 6 blocks of 16 and one of 3
  std::vector<int32_t> text(kTokens);
  for (size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<int32_t>(i * i % 64);
  }
  std::vector<double> losses;
  for (const int P : {1, 2, 3, 4, 8}) {
    std::vector<double> found(static_cast<size_t>(P));
    test::run_ranks(P, [&](Communicator& world) {
      Gpt model(GptConfig{.dropout = 0.5});
      const auto parallel = make_strategy("ddp", model, world, {});
      found[static_cast<size_t>(world.rank())] = heldout_loss(model, *parallel, text, 16, 4, world);
      if (!model.training()) {
        throw Error("the model is left in eval mode");
      }
    });
    losses.insert(losses.end(), found.begin(), found.end());
  }
  CHECK(losses == std::vector<double>(losses.size(), losses.front()));

  Gpt model(GptConfig{});  // block by block, and by hand
  double sum = 0.0;
  for (size_t begin = 0; begin + 1 < text.size(); begin += 16) {
    const auto T = static_cast<int64_t>(std::min<size_t>(16, text.size() - 1 - begin));
    const auto part = std::span<const int32_t>(text).subspan(begin, static_cast<size_t>(T + 1));
    sum += model.loss(Tensor::from(part.first(part.size() - 1), {1, T}), Tensor::from(part.subspan(1), {1, T})).sum.item();
  }
  CHECK(losses.front() == Approx(sum / 99).epsilon(1e-6));
  CHECK(std::isnan(heldout_loss(model, *make_strategy("ddp", model, *make_local(), {}), {}, 16, 4, *make_local())));
}

TEST_CASE("a token is drawn from the softmax of its logits", "[sample]") {
  const std::vector<float> logits = {std::log(1.0F), std::log(5.0F), std::log(4.0F)};  // probabilities 0.1, 0.5, 0.4
  CHECK(draw_token(logits, 1.0, 0, 0.0) == 1);                                         // the likeliest stands first
  CHECK(draw_token(logits, 1.0, 0, 0.49) == 1);
  CHECK(draw_token(logits, 1.0, 0, 0.51) == 2);
  CHECK(draw_token(logits, 1.0, 0, 0.89) == 2);
  CHECK(draw_token(logits, 1.0, 0, 0.91) == 0);
  CHECK(draw_token(logits, 1.0, 2, 0.99) == 2);  // of the two likeliest
  CHECK(draw_token(logits, 1.0, 1, 0.99) == 1);
  CHECK(draw_token(logits, 0.0, 0, 0.99) == 1);
  CHECK(draw_token(logits, 0.5, 0, 0.61) == 2);                             // squared: 1, 25, 16 of 42
  CHECK(draw_token(std::vector<float>{2.0F, 2.0F}, 0.0, 0, 0.5) == 0);      // a tie goes to the lower id
  CHECK(draw_token(std::vector<float>{1e4F, -1e4F}, 1e-3, 0, 0.999) == 0);  // no overflow
}

TEST_CASE("a sample is a function of the seed, as long as asked for, also beyond the sequence length", "[sample]") {
  Gpt model(GptConfig{});
  const auto drawn = [&](uint64_t seed) { return sample(model, {1, 2, 3}, {.tokens = 40, .temperature = 1.0, .seed = seed}); };
  const std::vector<int32_t> once = drawn(7);
  CHECK(once.size() == 40);
  CHECK(std::all_of(once.begin(), once.end(), [](int32_t id) { return id >= 0 && id < 64; }));
  CHECK(drawn(7) == once);
  CHECK(drawn(8) != once);
  CHECK(model.training());
}
