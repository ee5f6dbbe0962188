#include "nn/gpt.h"

#include <cmath>
#include <limits>

#include "autograd/grad_mode.h"
#include "test/nn/random_values.h"
#include "test/nn/reference_gpt.h"
#include "test/support/catch.h"

using namespace ringlet;

namespace {

std::vector<int32_t> row(const Tensor& ids, int64_t b) {
  const auto all = ids.span<int32_t>();
  return {all.begin() + b * ids.dim(1), all.begin() + (b + 1) * ids.dim(1)};
}

Tensor with_token(const Tensor& tokens, int64_t position, int32_t id) {
  Tensor changed = tokens.clone();
  changed.mutable_data<int32_t>()[position] = id;
  return changed;
}

}  // namespace

TEST_CASE("the mini-GPT holds 29,824 parameters, and every model what its formula says [F1]", "[nn]") {
  CHECK(Gpt({}).parameter_count() == 29824);
  for (const bool tied : {false, true}) {
    for (const bool bias : {false, true}) {
      const GptConfig config{
          .layers = 3, .embed_dim = 10, .heads = 5, .vocab_size = 17, .seq_len = 7, .bias = bias, .tied_head = tied};
      CHECK(Gpt(config).parameter_count() == config.parameter_count());
    }
  }
  const GptConfig gpt2{.layers = 12, .embed_dim = 768, .heads = 12, .vocab_size = 50257, .seq_len = 1024, .tied_head = true};
  // GPT-2 has biases in attention too, which we do not: L·4C fewer.
  CHECK(gpt2.parameter_count() == 124439808 - 12 * 4 * 768);
}

TEST_CASE("parameters have GPT-2's names and shapes", "[nn]") {
  const Gpt model({.layers = 1, .embed_dim = 8, .heads = 2, .vocab_size = 11, .seq_len = 5});
  const std::vector<std::pair<std::string, Shape>> expected = {
      {"wte.weight", {11, 8}},
      {"wpe.weight", {5, 8}},
      {"h.0.ln_1.weight", {8}},
      {"h.0.ln_1.bias", {8}},
      {"h.0.attn.c_attn.weight", {8, 24}},
      {"h.0.attn.c_proj.weight", {8, 8}},
      {"h.0.ln_2.weight", {8}},
      {"h.0.ln_2.bias", {8}},
      {"h.0.mlp.c_fc.weight", {8, 32}},
      {"h.0.mlp.c_fc.bias", {32}},
      {"h.0.mlp.c_proj.weight", {32, 8}},
      {"h.0.mlp.c_proj.bias", {8}},
      {"ln_f.weight", {8}},
      {"ln_f.bias", {8}},
      {"lm_head.weight", {8, 11}},
  };
  const auto parameters = model.parameters();
  REQUIRE(parameters.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CHECK(parameters[i].name == expected[i].first);
    CHECK(parameters[i].var.shape() == expected[i].second);
  }
}

TEST_CASE("logits and loss are those of GPT-2's formulas", "[nn]") {
  for (const int choice : {0, 1, 2, 3, 4, 5, 6, 7}) {
    Gpt model({.layers = 2,
               .embed_dim = 6,
               .heads = 3,
               .vocab_size = 13,
               .seq_len = 9,
               .bias = (choice & 1) != 0,
               .tied_head = (choice & 2) != 0,
               .activation = (choice & 4) != 0 ? GeluForm::Tanh : GeluForm::Erf,
               .dtype = DType::F64});
    test::randomize(model);
    const test::ReferenceGpt reference(model);
    for (const int64_t T : {1, 4, 9}) {  // shorter than the longest too
      const Tensor tokens = test::tokens(3, T, 13), targets = test::tokens(3, T, 13, "targets");
      const Tensor logits = model.forward(tokens).data();
      REQUIRE(logits.shape() == Shape{3, T, 13});
      double expected_loss = 0.0;
      for (int64_t b = 0; b < 3; ++b) {
        const std::vector<double> expected = reference.logits(row(tokens, b));
        for (int64_t i = 0; i < T * 13; ++i) {
          REQUIRE(logits.at(b * T * 13 + i) == Approx(expected[static_cast<size_t>(i)]).margin(1e-13).epsilon(1e-12));
        }
        expected_loss += reference.loss(row(tokens, b), row(targets, b));
      }
      const TokenLoss loss = model.loss(tokens, targets);
      CHECK(loss.count == 3 * T);
      CHECK(loss.sum.item() == Approx(expected_loss).epsilon(1e-13));
    }
  }
}

TEST_CASE("no position sees a later one: not a bit changes, dropout or not, in training or not [B6]", "[nn]") {
  constexpr int64_t B = 2, T = 16, V = 64;
  for (const double dropout : {0.0, 0.3}) {
    for (const bool training : {true, false}) {
      Gpt model({.dropout = dropout});
      test::randomize(model);
      model.train(training);
      model.set_dropout_index(5);
      const Tensor tokens = test::tokens(B, T, V);
      const std::vector<double> before = model.forward(tokens).data().to_vector();
      for (int64_t changed = 1; changed < T; ++changed) {
        const auto id = static_cast<int32_t>((tokens.span<int32_t>()[static_cast<size_t>(changed)] + 1) % V);
        const std::vector<double> after = model.forward(with_token(tokens, changed, id)).data().to_vector();
        CAPTURE(dropout, training, changed);
        REQUIRE(std::equal(after.begin(), after.begin() + changed * V, before.begin()));  // the positions before
        REQUIRE_FALSE(
            std::equal(after.begin(), after.begin() + (changed + 1) * V, before.begin()));  // not because nothing acts
        REQUIRE(std::equal(after.begin() + T * V, after.end(), before.begin() + T * V));    // nor the other sequence
      }
    }
  }
}

TEST_CASE("a shorter sequence gives the bits of the same positions in a longer one", "[nn]") {
  Gpt model({});
  test::randomize(model);
  const NoGrad no_grad;
  const Tensor tokens = test::tokens(1, 16, 64);
  const std::vector<double> whole = model.forward(tokens).data().to_vector();
  for (int64_t T = 1; T < 16; ++T) {
    const std::vector<double> part = model.forward(tokens.narrow(1, 0, T)).data().to_vector();
    REQUIRE(std::equal(part.begin(), part.end(), whole.begin()));
  }
}

TEST_CASE("a batch has the bits of its sequences alone", "[nn]") {
  Gpt model({});
  test::randomize(model);
  const Tensor tokens = test::tokens(3, 16, 64);
  const std::vector<double> whole = model.forward(tokens).data().to_vector();
  for (int64_t b = 0; b < 3; ++b) {
    const std::vector<double> alone = model.forward(tokens.narrow(0, b, 1)).data().to_vector();
    REQUIRE(std::equal(alone.begin(), alone.end(), whole.begin() + b * 16 * 64));
  }
}

TEST_CASE("a new model knows nothing: on random tokens its loss is about ln V [B6]", "[nn]") {
  Gpt model({.vocab_size = 65});
  const Tensor tokens = test::tokens(8, 16, 65), targets = test::tokens(8, 16, 65, "targets");
  const TokenLoss loss = model.loss(tokens, targets);
  // Logits are about N(0, σ²) with σ = 0.02·√C = 0.11: the mean of 128 tokens is ln V + σ²/2 ± σ/√128.
  CHECK(std::abs(loss.sum.item() / 128.0 - std::log(65.0)) < 0.11 * 0.11 / 2 + 4 * 0.11 / std::sqrt(128.0));
}

TEST_CASE("ids outside of the vocabulary are errors that name position, id and V [B8]", "[nn]") {
  Gpt model({});
  const Tensor good = test::tokens(2, 16, 64);
  for (const int32_t id :
       {64, -1, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min(), 65535, kIgnoreIndex}) {
    const Tensor bad = with_token(good, 19, id);
    CAPTURE(id);
    CHECK_THROWS_WITH(model.forward(bad), Catch::Matchers::Contains(std::to_string(id)) && Catch::Matchers::Contains("19") &&
                                              Catch::Matchers::Contains("64"));
    if (id != kIgnoreIndex) {
      CHECK_THROWS_WITH(model.loss(good, bad), Catch::Matchers::Contains(std::to_string(id)) &&
                                                   Catch::Matchers::Contains("19") && Catch::Matchers::Contains("64"));
    }
  }
}

TEST_CASE("tokens and targets of the wrong shape, length or dtype are refused", "[nn]") {
  Gpt model({});
  CHECK_THROWS_WITH(model.forward(test::tokens(2, 17, 64)), Catch::Matchers::Contains("must be in 1 .. 16, got 17"));
  CHECK_THROWS_AS(model.forward(Tensor::zeros({2, 0}, DType::I32)), Error);
  CHECK_THROWS_WITH(model.forward(Tensor::zeros({16}, DType::I32)), Catch::Matchers::Contains("must be [B, T], got [16]"));
  CHECK_THROWS_AS(model.forward(Tensor::zeros({2, 16}, DType::F32)), Error);
  CHECK_THROWS_WITH(model.loss(test::tokens(2, 16, 64), test::tokens(2, 15, 64)),
                    Catch::Matchers::Contains("must be [2, 16], got [2, 15]"));
  CHECK(model.loss(Tensor::zeros({0, 16}, DType::I32), Tensor::zeros({0, 16}, DType::I32)).count == 0);
}

TEST_CASE("a configuration that makes no sense is refused by the name of its field", "[nn]") {
  struct Row {
    GptConfig config;
    const char* rule;
  };
  const Row rows[] = {
      {{.layers = 0}, "layers must be in 1 .. 2147483647, got 0"},
      {{.embed_dim = 10, .heads = 3}, "heads must divide embed_dim, got 3 heads for 10"},
      {{.embed_dim = -32}, "embed_dim"},
      {{.heads = 0}, "heads"},
      {{.vocab_size = 0}, "vocab_size"},
      {{.vocab_size = int64_t{1} << 31}, "vocab_size"},
      {{.seq_len = 0}, "seq_len"},
      {{.dropout = 1.0}, "dropout"},
      {{.dropout = -0.1}, "dropout"},
      {{.dropout = std::nan("")}, "dropout"},
      {{.layer_norm_eps = 0.0}, "layer_norm_eps"},
      {{.dtype = DType::BF16}, "dtype"},
  };
  for (const Row& bad : rows) {
    CHECK_THROWS_WITH(Gpt(bad.config), Catch::Matchers::Contains(bad.rule));
  }
}

TEST_CASE("padding before a sequence changes nothing that is not padding", "[nn]") {
  Gpt model({.dtype = DType::F64});
  test::randomize(model);
  const Tensor tokens = test::tokens(1, 8, 64);
  Tensor padding = Tensor::zeros({1, 8}, DType::U8);
  padding.mutable_data<uint8_t>()[0] = 1;
  const std::vector<double> one = model.forward(tokens, padding).data().to_vector();
  const std::vector<double> other =
      model.forward(with_token(tokens, 0, (tokens.span<int32_t>()[0] + 1) % 64), padding).data().to_vector();
  CHECK(std::equal(one.begin() + 64, one.end(), other.begin() + 64));
  CHECK_FALSE(std::equal(one.begin(), one.begin() + 64, other.begin()));
}
