#include "tensor/ops/gelu.h"

#include <limits>

#include "test/support/catch.h"
#include "test/tensor/values.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

double erf_form(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double erf_slope(double x) {
  return 0.5 * (1 + std::erf(x / std::sqrt(2.0))) + x * std::exp(-0.5 * x * x) / std::sqrt(2 * M_PI);
}
double tanh_form(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double tanh_slope(double x) {
  const double root = std::sqrt(2 / M_PI), t = std::tanh(root * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x);
}

Tensor slope(const Tensor& x, GeluForm form) { return gelu_backward(Tensor::full(x.shape(), 1, x.dtype()), x, form); }

}  // namespace

TEST_CASE("[C4] both forms of GELU, forward and backward, and the gap between them", "[tensor]") {
  struct Row {
    float x;
    double erf, erf_slope, tanh, tanh_slope;
  };
  const Row table[] = {
      {1, .8413447, 1.0833155, .8411920, 1.0829641},
      {-1, -.1586553, -.0833155, -.1588080, -.0829641},
      {2, 1.9544997, 1.0852318, 1.9545977, 1.0860993},
  };
  for (const Row& row : table) {
    const Tensor x = Tensor::full({}, row.x);
    CHECK(gelu(x, GeluForm::Erf).item() == Approx(row.erf).margin(1.5e-7));
    CHECK(slope(x, GeluForm::Erf).item() == Approx(row.erf_slope).margin(1.5e-7));
    CHECK(gelu(x, GeluForm::Tanh).item() == Approx(row.tanh).margin(1.5e-7));
    CHECK(slope(x, GeluForm::Tanh).item() == Approx(row.tanh_slope).margin(1.5e-7));
  }
  const Tensor widest = Tensor::full({}, 2.699, DType::F64);
  CHECK(gelu(widest, GeluForm::Tanh).item() - gelu(widest, GeluForm::Erf).item() == Approx(4.732e-4).epsilon(1e-3));
}

TEST_CASE("GELU follows the formula over its whole range", "[tensor]") {
  for (const DType dtype : {DType::F32, DType::F64}) {
    Tensor x = Tensor::empty({4001}, DType::F64);
    for (int64_t i = 0; i < 4001; ++i) x.mutable_data<double>()[i] = static_cast<double>(i - 2000) * 0.006;
    x = x.to(dtype);
    const double eps = dtype == DType::F32 ? 0x1p-24 : 0x1p-53;
    struct Row {
      GeluForm form;
      double (*f)(double);
      double (*df)(double);
    };
    for (const Row& row : {Row{GeluForm::Erf, erf_form, erf_slope}, Row{GeluForm::Tanh, tanh_form, tanh_slope}}) {
      const Tensor y = gelu(x, row.form), dx = slope(x, row.form);
      for (int64_t i = 0; i < x.numel(); ++i) {
        const double magnitude = 1 + std::fabs(x.at(i));  // below −2 the sum 1 + erf cancels: the error is absolute
        CAPTURE(x.at(i));
        REQUIRE(std::fabs(y.at(i) - row.f(x.at(i))) <= 4 * eps * magnitude);
        REQUIRE(std::fabs(dx.at(i) - row.df(x.at(i))) <= 8 * eps * magnitude * magnitude);
      }
    }
  }
}

TEST_CASE("GELU is 0 or x far out, and NaN for NaN", "[tensor]") {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::F32, DType::F64}) {
    for (const GeluForm form : {GeluForm::Erf, GeluForm::Tanh}) {
      const Tensor x = Tensor::from<double>({kInf, 1e30, 50, -50, -1e30, -kInf}, {6}).to(dtype);
      CHECK(gelu(x, form).to_vector() == std::vector<double>{kInf, x.at(1), 50, 0, 0, 0});
      CHECK(slope(x, form).to_vector() == std::vector<double>{1, 1, 1, 0, 0, 0});
      const Tensor nan = Tensor::full({2}, std::nan(""), dtype);
      CHECK(std::isnan(gelu(nan, form).at(1)));
      CHECK(std::isnan(slope(nan, form).at(1)));
    }
  }
  CHECK_THROWS_WITH(gelu(Tensor::zeros({2}, DType::U8), GeluForm::Erf),
                    Catch::Matchers::Contains("gelu: needs f32 or f64, got u8"));
  CHECK_THROWS_WITH(gelu_backward(Tensor::zeros({2}), Tensor::zeros({3}), GeluForm::Erf),
                    Catch::Matchers::Contains("dy: shape must be [3]"));
}
