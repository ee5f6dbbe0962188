// The whole model against another implementation: loss and every gradient as PyTorch finds them in double precision.
#include <algorithm>
#include <cmath>

#include "autograd/variable.h"
#include "nn/gpt.h"
#include "test/nn/golden_gpt.h"
#include "test/support/catch.h"

using namespace ringlet;        // NOLINT(google-build-using-namespace)
using namespace ringlet::test;  // NOLINT(google-build-using-namespace)

namespace {

constexpr int64_t kB = 2, kT = 4, kV = 7;

// Both implementations round every operation once. A loss or gradient here depends on fewer than 2^12 operations one after the
// other and side by side, each wrong by at most 2^-53 of a value below `largest`.
double bound(double largest) { return std::ldexp(largest, 12 - 53); }

Tensor ids(int64_t factor, int64_t offset) {
  Tensor all = Tensor::empty({kB, kT}, DType::I32);
  for (int64_t i = 0; i < all.numel(); ++i) {
    all.mutable_data<int32_t>()[i] = static_cast<int32_t>((factor * i + offset) % kV);
  }
  return all;
}

// Parameter p, element i: test/oracle/write_golden_gpt has the same line.
void set_weights(const Gpt& model) {
  int64_t p = 0;
  for (const NamedParameter& parameter : model.parameters()) {
    Tensor data = parameter.var.data();
    const bool gain = data.rank() == 1 && parameter.name.find("weight") != std::string::npos;
    for (int64_t i = 0; i < data.numel(); ++i) {
      data.mutable_data<double>()[i] =
          (gain ? 1.0 : 0.0) + 0.3 * std::sin(0.7 * static_cast<double>(i) + static_cast<double>(p));
    }
    ++p;
  }
}

double largest_of(const std::vector<double>& values) {
  double largest = 1.0;
  for (const double value : values) {
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

}  // namespace

TEST_CASE("loss and gradients are PyTorch's", "[nn]") {
  for (const GoldenGpt& golden : golden_gpts()) {
    INFO(golden.name);
    Gpt model({.layers = 2,
               .embed_dim = 4,
               .heads = 2,
               .vocab_size = kV,
               .seq_len = kT,
               .bias = golden.bias,
               .tied_head = golden.tied,
               .activation = golden.tanh ? GeluForm::Tanh : GeluForm::Erf,
               .dtype = DType::F64});
    set_weights(model);
    const TokenLoss loss = model.loss(ids(3, 1), ids(5, 2));
    backward(loss.sum);
    CHECK(std::abs(loss.sum.item() - golden.loss) <= bound(golden.loss));
    CHECK(model.parameters().size() == golden.gradients.size());
    for (const NamedParameter& parameter : model.parameters()) {
      const std::vector<double>& theirs = golden.gradients.at(parameter.name);
      const std::vector<double> ours = parameter.var.grad().to_vector();
      REQUIRE(ours.size() == theirs.size());
      double worst = 0.0;
      for (size_t i = 0; i < ours.size(); ++i) {
        worst = std::max(worst, std::abs(ours[i] - theirs[i]));
      }
      INFO(parameter.name << ": " << worst);
      CHECK(worst <= bound(largest_of(theirs)));
    }
  }
}
