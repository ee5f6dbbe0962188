#include "tensor/ops/softmax.h"

#include <limits>

#include "test/support/catch.h"
#include "test/tensor/values.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("softmax and its gradient are the formula's", "[tensor]") {
  for (const Shape& shape : {Shape{1}, Shape{3, 5}, Shape{2, 4, 64}, Shape{7, 65}, Shape{2, 2000}, Shape{0, 4}, Shape{4, 0}}) {
    for (const DType dtype : {DType::F32, DType::F64}) {
      const Tensor x = normal(shape, "x", dtype), dp = normal(shape, "dp", dtype), p = softmax(x), dx = softmax_backward(p, dp);
      const int64_t n = shape[-1];
      const double eps = (dtype == DType::F32 ? 0x1p-24 : 0x1p-53) * (8 + std::log2(static_cast<double>(n + 1)));
      for (int64_t r = 0; r < (n == 0 ? 0 : shape.rows()); ++r) {
        double total = 0, dot = 0;
        for (int64_t j = 0; j < n; ++j) total += std::exp(x.at(r * n + j));
        for (int64_t j = 0; j < n; ++j) dot += std::exp(x.at(r * n + j)) / total * dp.at(r * n + j);
        for (int64_t j = 0; j < n; ++j) {
          const double expected = std::exp(x.at(r * n + j)) / total, slope = expected * (dp.at(r * n + j) - dot);
          REQUIRE(std::fabs(p.at(r * n + j) - expected) <= 4 * eps * expected);
          REQUIRE(std::fabs(dx.at(r * n + j) - slope) <= 16 * eps * expected * 4);
        }
      }
      CHECK(p.shape() == shape);
    }
  }
}

TEST_CASE("[B2] softmax survives large numbers, and rows that are masked in part or throughout", "[tensor]") {
  struct Row {
    std::vector<float> x;
    std::vector<double> p;
  };
  const Row table[] = {
      {{1000, 1001, 1002}, {.0900306, .2447285, .6652410}},
      {{-400, 250, 500}, {0, 0, 1}},
      {{-3e38F, 3e38F, 0}, {0, 1, 0}},
      {{-kInf, 0, 0}, {0, .5, .5}},
      {{-kInf, -kInf, -kInf}, {0, 0, 0}},
      {{-kInf, -7, -kInf}, {0, 1, 0}},
  };
  for (const Row& row : table) {
    const Tensor p = softmax(Tensor::from(row.x, {3}));
    for (int64_t j = 0; j < 3; ++j) {
      CHECK(p.at(j) == Approx(row.p[static_cast<size_t>(j)]).margin(1e-7));
    }
  }
}

TEST_CASE("a NaN fills its row of a softmax and no other", "[tensor]") {
  for (const int64_t at : {0, 3, 20}) {
    Tensor x = Tensor::full({3, 21}, -kInf);
    Tensor(x.narrow(0, 0, 1)).fill(1);
    x.mutable_data<float>()[21 + at] = kNan;
    const Tensor p = softmax(x);
    CHECK(std::isnan(p.at(21)));
    CHECK(std::isnan(p.at(41)));
    CHECK(p.at(5) == Approx(1.0 / 21));
    CHECK(p.at(42) == 0);
  }
}

TEST_CASE("softmax names wrong operands", "[tensor]") {
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(softmax(Tensor::zeros({3}, DType::I32)), Contains("softmax: needs f32 or f64, got i32"));
  CHECK_THROWS_AS(softmax(Tensor::zeros({})), Error);
  CHECK_THROWS_AS(softmax(Tensor()), Error);
  CHECK_THROWS_WITH(softmax_backward(Tensor::zeros({3}), Tensor::zeros({4})),
                    Contains("softmax_backward: dp: shape must be [3], got [4]"));
}
