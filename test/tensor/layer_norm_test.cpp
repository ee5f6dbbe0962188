#include "tensor/ops/layer_norm.h"

#include "test/support/catch.h"
#include "test/tensor/values.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

constexpr double kEps = 1e-5;

struct Reference {
  std::vector<double> y, dx, dgamma, dbeta;
};
Reference naive(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& dy) {
  const int64_t C = x.dim(-1), rows = x.numel() / C;
  Reference out{x.to_vector(), x.to_vector(), std::vector<double>(C), std::vector<double>(C)};
  for (int64_t r = 0; r < rows; ++r) {
    double mean = 0, variance = 0, mean_g = 0, mean_gx = 0;
    for (int64_t c = 0; c < C; ++c) mean += x.at(r * C + c) / static_cast<double>(C);
    for (int64_t c = 0; c < C; ++c) variance += std::pow(x.at(r * C + c) - mean, 2) / static_cast<double>(C);
    const double rstd = 1 / std::sqrt(variance + kEps);
    const auto xhat = [&](int64_t c) { return (x.at(r * C + c) - mean) * rstd; };
    const auto g = [&](int64_t c) { return dy.at(r * C + c) * gamma.at(c); };
    for (int64_t c = 0; c < C; ++c) {
      mean_g += g(c) / static_cast<double>(C);
      mean_gx += g(c) * xhat(c) / static_cast<double>(C);
    }
    for (int64_t c = 0; c < C; ++c) {
      out.y[r * C + c] = xhat(c) * gamma.at(c) + (beta.defined() ? beta.at(c) : 0);
      out.dx[r * C + c] = rstd * (g(c) - mean_g - xhat(c) * mean_gx);
      out.dgamma[c] += dy.at(r * C + c) * xhat(c);
      out.dbeta[c] += dy.at(r * C + c);
    }
  }
  return out;
}

void require_near(const char* name, const Tensor& got, const std::vector<double>& expected, double within) {
  for (int64_t i = 0; i < got.numel(); ++i) {
    CAPTURE(name, i, got.at(i), expected[i]);
    REQUIRE(std::fabs(got.at(i) - expected[i]) <= within * (1 + std::fabs(expected[i])));
  }
}

}  // namespace

TEST_CASE("LayerNorm and its gradients are the formula's", "[tensor]") {
  for (const Shape& shape : {Shape{2}, Shape{3, 5}, Shape{64, 32}, Shape{2, 100, 17}, Shape{5, 1100}}) {
    for (const DType dtype : {DType::F32, DType::F64}) {
      for (const bool bias : {true, false}) {
        const int64_t C = shape[-1];
        const Tensor x = normal(shape, "x", dtype), gamma = normal({C}, "gamma", dtype),
                     beta = bias ? normal({C}, "beta", dtype) : Tensor();
        const Tensor dy = normal(shape, "dy", dtype);
        const LayerNormed out = layer_norm(x, gamma, beta, kEps);
        const LayerNormGrads grads = layer_norm_backward(dy, x, gamma, out.mean, out.rstd);
        const Reference expected = naive(x, gamma, beta, dy);
        const double rows = static_cast<double>(x.numel() / C), eps = dtype == DType::F32 ? 0x1p-24 : 0x1p-53;
        const double within =
            64 * eps * std::sqrt(rows + static_cast<double>(C));  // two numbers in a row can be close: ρ is up to 300
        const double steep = C == 2 ? 300 : 1;
        require_near("y", out.y, expected.y, within * steep);
        require_near("dx", grads.dx, expected.dx, within * steep);
        require_near("dgamma", grads.dgamma, expected.dgamma, within * steep);
        require_near("dbeta", grads.dbeta, expected.dbeta, within);
        CHECK(out.mean.shape() == Shape{x.numel() / C});
      }
    }
  }
}

TEST_CASE("[C1] a mean that is large beside the spread costs no digits", "[tensor]") {
  const double expected[] = {-1.341635, -.447212, .447212, 1.341635};
  for (const float start : {10000.0F, 60000.0F}) {
    const Tensor x = Tensor::from<float>({start, start + 1, start + 2, start + 3}, {1, 4});
    const Tensor y = layer_norm(x, Tensor::full({4}, 1), Tensor::zeros({4}), kEps).y;
    for (int64_t c = 0; c < 4; ++c) CHECK(y.at(c) == Approx(expected[c]).epsilon(1e-6));
  }
}

TEST_CASE("[C2] a constant row is finite, forward and backward", "[tensor]") {
  const Tensor x = Tensor::full({1, 4}, 777), gamma = Tensor::full({4}, 1), beta = Tensor::full({4}, .5);
  const LayerNormed out = layer_norm(x, gamma, beta, kEps);
  CHECK(out.y.to_vector() == std::vector<double>{.5, .5, .5, .5});
  const LayerNormGrads grads = layer_norm_backward(Tensor::from<float>({1, 0, 0, 0}, {1, 4}), x, gamma, out.mean, out.rstd);
  const double expected[] = {237.1708, -79.0569, -79.0569, -79.0569};
  for (int64_t c = 0; c < 4; ++c) CHECK(grads.dx.at(c) == Approx(expected[c]).epsilon(1e-6));
}

TEST_CASE("rows of LayerNorm are independent, NaN stays in its row, no rows give zero gradients", "[tensor]") {
  Tensor x = normal({5, 7}, "rows");
  const Tensor gamma = normal({7}, "gamma");
  const Tensor y = layer_norm(x, gamma, {}, kEps).y;
  x.mutable_data<float>()[2 * 7 + 3] = std::nanf("");
  const Tensor poisoned = layer_norm(x, gamma, {}, kEps).y;
  for (int64_t r = 0; r < 5; ++r) {
    CHECK((r == 2 ? std::isnan(poisoned.at(r * 7)) : same_bits(poisoned.narrow(0, r, 1), y.narrow(0, r, 1))));
    CHECK(same_bits(layer_norm(normal({5, 7}, "rows").narrow(0, r, 1), gamma, {}, kEps).y, y.narrow(0, r, 1)));
  }
  const Tensor none = Tensor::zeros({0, 7});
  const LayerNormGrads grads = layer_norm_backward(none, none, gamma, Tensor::zeros({0}), Tensor::zeros({0}));
  CHECK(same_bits(grads.dgamma, Tensor::zeros({7})));
  CHECK(same_bits(grads.dbeta, Tensor::zeros({7})));
}

TEST_CASE("LayerNorm names wrong operands", "[tensor]") {
  using Catch::Matchers::Contains;
  const Tensor x = Tensor::zeros({2, 3}), gamma = Tensor::zeros({3});
  CHECK_THROWS_WITH(layer_norm(x, Tensor::zeros({2}), {}, kEps), Contains("layer_norm: gamma: shape must be [3], got [2]"));
  CHECK_THROWS_WITH(layer_norm(x, gamma, Tensor::zeros({3, 1}), kEps), Contains("layer_norm: beta: shape must be [3]"));
  CHECK_THROWS_WITH(layer_norm(x, Tensor::zeros({3}, DType::F64), {}, kEps), Contains("gamma: dtype must be f32, got f64"));
  CHECK_THROWS_WITH(layer_norm_backward(Tensor::zeros({2, 4}), x, gamma, Tensor::zeros({2}), Tensor::zeros({2})),
                    Contains("dy: shape"));
  CHECK_THROWS_WITH(layer_norm_backward(x, x, gamma, Tensor::zeros({3}), Tensor::zeros({2})),
                    Contains("mean: shape must be [2], got [3]"));
  for (const double eps : {0.0, -1e-5, std::nan(""), double(INFINITY), 1e-60}) {  // of 1e-60 f32 makes 0
    CHECK_THROWS_WITH(layer_norm(x, gamma, {}, eps), Contains("layer_norm: eps must be positive and finite"));
  }
  CHECK_THROWS_WITH(layer_norm(Tensor::zeros({2, 3}, DType::I32), Tensor::zeros({3}, DType::I32), {}, kEps),
                    Contains("needs f32 or f64"));
}
