#include "nn/dropout.h"

#include <cmath>

#include "nn/gpt.h"
#include "test/nn/random_values.h"
#include "test/support/catch.h"

using namespace ringlet;

namespace {

std::vector<double> masked(double p, uint64_t seed, const std::string& path, uint64_t index, int64_t elements = 4096) {
  Dropout dropout(p, seed, path);
  dropout.set_index(index);
  return dropout.forward(Var(Tensor::full({elements}, 1.0, DType::F64))).data().to_vector();
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - 1) * (b[i] - 1);
    aa += (a[i] - 1) * (a[i] - 1);
    bb += (b[i] - 1) * (b[i] - 1);
  }
  return ab / std::sqrt(aa * bb);
}

}  // namespace

TEST_CASE("a mask is a pure function of seed, path, index and element; what differs in one has another mask [N3]", "[nn]") {
  const std::vector<double> mask = masked(0.4, 1, "h.0.mlp", 7);
  CHECK(masked(0.4, 1, "h.0.mlp", 7) == mask);
  const std::vector<double> longer = masked(0.4, 1, "h.0.mlp", 7, 5000);
  CHECK(std::equal(mask.begin(), mask.end(), longer.begin()));
  const double bound = 4.5 / std::sqrt(4096.0);  // independent masks: correlation of deviation 1/√n
  CHECK(std::abs(correlation(mask, masked(0.4, 2, "h.0.mlp", 7))) < bound);
  CHECK(std::abs(correlation(mask, masked(0.4, 1, "h.1.mlp", 7))) < bound);
  CHECK(std::abs(correlation(mask, masked(0.4, 1, "h.0.mlp", 8))) < bound);
  CHECK(correlation(mask, mask) == Approx(1.0));
}

TEST_CASE("what is kept is scaled by 1/(1 − p), so that the mean stays", "[nn]") {
  const std::vector<double> mask = masked(0.25, 1, "x", 0);
  double kept = 0;
  for (const double value : mask) {
    REQUIRE((value == 0.0 || value == Approx(4.0 / 3.0)));
    kept += value > 0.0 ? 1 : 0;
  }
  CHECK(std::abs(kept / 4096 - 0.75) < 4.5 * std::sqrt(0.25 * 0.75 / 4096));
}

TEST_CASE("no dropout in eval and at probability 0", "[nn]") {
  Dropout dropout(0.9, 1, "x");
  dropout.eval();
  const Var x(test::normal({50}, "x"));
  CHECK(dropout.forward(x).data().to_vector() == x.data().to_vector());
  CHECK(dropout.for_attention().probability == 0.0);
  CHECK(Dropout(0.0, 1, "x").forward(x).data().to_vector() == x.data().to_vector());
  CHECK_THROWS_AS(Dropout(1.0, 1, "x"), Error);
  CHECK_THROWS_AS(Dropout(std::nan(""), 1, "x"), Error);
}

TEST_CASE("a model's masks follow the index of the micro-batch, and eval is the model without dropout", "[nn]") {
  Gpt model({.dropout = 0.2}), plain({});
  const Tensor tokens = test::tokens(2, 16, 64);
  const auto logits = [&](Gpt& gpt, uint64_t index) {
    gpt.set_dropout_index(index);
    return gpt.forward(tokens).data().to_vector();
  };
  CHECK(logits(model, 3) == logits(model, 3));
  CHECK(logits(model, 3) != logits(model, 4));
  CHECK(logits(model, 3) != logits(plain, 3));
  model.eval();
  CHECK(logits(model, 3) == logits(plain, 3));
}

TEST_CASE("the purpose of every mask in a model is where its module stands, so no two of them draw the same numbers", "[nn]") {
  Gpt model({.layers = 3, .dropout = 0.2});
  int found = 0;
  for (const auto& [path, module] : model.modules()) {
    if (const auto* dropout = dynamic_cast<const Dropout*>(module)) {
      CHECK(dropout->for_attention().purpose == "dropout/" + path);
      ++found;
    }
  }
  CHECK(found == 1 + 3 * 3);  // embeddings; per block: attention's probabilities and the two residual branches
}
