#include "nn/init.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "nn/gpt.h"
#include "test/support/catch.h"

using namespace ringlet;

namespace {

std::map<std::string, std::vector<double>> values_of(const Gpt& model) {
  std::map<std::string, std::vector<double>> values;
  for (const NamedParameter& parameter : model.parameters()) {
    values[parameter.name] = parameter.var.data().to_vector();
  }
  return values;
}

}  // namespace

TEST_CASE("weights start as N(0, 0.02), residual projections divided by √(2·layers), gains 1, biases 0", "[nn]") {
  for (const int64_t layers : {1, 2, 8}) {
    for (const auto& [name, values] : values_of(Gpt({.layers = layers, .embed_dim = 64}))) {
      double sum = 0, squares = 0;
      for (const double value : values) {
        sum += value;
        squares += value * value;
      }
      const double n = static_cast<double>(values.size());
      CAPTURE(layers, name);
      if (name.ends_with(".bias")) {
        CHECK(squares == 0.0);
      } else if (name.find("ln_") != std::string::npos) {
        CHECK(sum == n);
        CHECK(squares == n);
      } else {
        const double sigma = name.ends_with("c_proj.weight") ? 0.02 / std::sqrt(2.0 * static_cast<double>(layers)) : 0.02;
        CHECK(std::abs(sum / n) < 4.5 * sigma / std::sqrt(n));                         // the mean's deviation: σ/√n
        CHECK(std::abs(std::sqrt(squares / n) / sigma - 1) < 4.5 / std::sqrt(2 * n));  // that of the deviation: σ/√(2n)
      }
    }
  }
}

TEST_CASE("an initial parameter depends on the seed and its name, and on nothing else [G4]", "[nn]") {
  const auto first = values_of(Gpt({.layers = 2, .seed = 1337})), again = values_of(Gpt({.layers = 2, .seed = 1337}));
  CHECK(first == again);
  const auto tied = values_of(Gpt({.layers = 2, .bias = false, .tied_head = true, .seed = 1337}));
  for (const auto& [name, values] : tied) {
    CHECK(values == first.at(name));
  }
  const auto other = values_of(Gpt({.layers = 2, .seed = 1338}));
  CHECK(first.at("h.0.mlp.c_fc.weight") != other.at("h.0.mlp.c_fc.weight"));
  CHECK(first.at("h.0.mlp.c_fc.weight") != first.at("h.1.mlp.c_fc.weight"));
}

TEST_CASE("a piece of a parameter can be made without the rest [G4]", "[nn]") {
  const Gpt model({.seed = 1337});
  const std::vector<double> whole = values_of(model).at("wpe.weight");
  for (const uint64_t first : {0, 1, 100}) {
    Tensor piece = Tensor::empty({77});
    init_normal(piece, 1337, "wpe.weight", kInitStandardDeviation, first);
    const std::vector<double> values = piece.to_vector();
    CHECK(std::equal(values.begin(), values.end(), whole.begin() + static_cast<int64_t>(first)));
  }
}
