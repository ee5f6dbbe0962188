#include "tensor/kernels/cpu/math.h"

#include <limits>

#include "tensor/ops/arithmetic.h"
#include "tensor/ops/math.h"
#include "test/support/catch.h"
#include "test/tensor/values.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

struct Function {
  const char* name;
  float (*ours)(float);
  long double (*exact)(long double);
  double ulp;  // what kernels/cpu/math.h promises
};
const Function kFunctions[] = {
    {"exp", kernels::exp, std::exp, 1.02},
    {"log", kernels::log, std::log, 0.9},
    {"tanh", kernels::tanh, std::tanh, 2.5},
    {"erf", kernels::erf, std::erf, 1.2},
    {"sigmoid", kernels::sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }, 2.4},
};

// The error of `got` in units of the distance between neighbouring fp32 numbers at `exact`.
double error_in_ulp(float got, long double exact) {
  const float nearest = static_cast<float>(exact);
  if (std::isnan(nearest) || std::isinf(nearest)) {
    return (std::isnan(nearest) ? std::isnan(got) : got == nearest) ? 0 : 1e9;
  }
  if (got == 0 && exact < 0x1p-125L && exact > 0) {
    return 0;  // exp and sigmoid promise 0 there
  }
  const int exponent = std::max(nearest == 0 ? -126 : std::ilogb(nearest), -126);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) / std::ldexp(1.0L, exponent - 23));
}

}  // namespace

TEST_CASE("fp32 functions keep their error bounds over every magnitude, both signs, inf and NaN", "[tensor]") {
  constexpr uint32_t kStep = 16411;  // a prime: a quarter of a million patterns, all exponents
  for (const Function& f : kFunctions) {
    double worst = 0;
    float at = 0;
    for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += kStep) {
      const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
      if (const double error = error_in_ulp(f.ours(x), f.exact(x)); error > worst) {
        worst = error;
        at = x;
      }
    }
    CAPTURE(f.name, worst, at);
    CHECK(worst <= f.ulp);
  }
}

TEST_CASE("fp32 functions have the right limits", "[tensor]") {
  struct Row {
    const char* name;
    float (*f)(float);
    float x, y;
  };
  const Row table[] = {
      {"exp", kernels::exp, 0.0F, 1.0F},
      {"exp", kernels::exp, 88.8F, kInf},
      {"exp", kernels::exp, kInf, kInf},
      {"exp", kernels::exp, -kInf, 0.0F},
      {"exp", kernels::exp, -104.1F, 0.0F},
      {"exp", kernels::exp, -0x1.5a92d6p6F, 0x1.000034p-125F},
      {"exp below 2^-125", kernels::exp, -0x1.5a92d8p6F, 0.0F},
      {"log", kernels::log, 1.0F, 0.0F},
      {"log", kernels::log, 0.0F, -kInf},
      {"log", kernels::log, -0.0F, -kInf},
      {"log", kernels::log, kInf, kInf},
      {"log", kernels::log, -1.0F, kNan},
      {"tanh", kernels::tanh, 9.02F, 1.0F},
      {"tanh", kernels::tanh, -kInf, -1.0F},
      {"tanh tiny", kernels::tanh, 1e-40F, 1e-40F},
      {"erf", kernels::erf, 4.0F, 1.0F},
      {"erf", kernels::erf, -kInf, -1.0F},
      {"sigmoid", kernels::sigmoid, 0.0F, 0.5F},
      {"sigmoid", kernels::sigmoid, kInf, 1.0F},
      {"sigmoid", kernels::sigmoid, -kInf, 0.0F},
      {"exp", kernels::exp, kNan, kNan},
      {"log", kernels::log, kNan, kNan},
      {"tanh", kernels::tanh, kNan, kNan},
      {"erf", kernels::erf, kNan, kNan},
      {"sigmoid", kernels::sigmoid, kNan, kNan},
  };
  for (const Row& row : table) {
    const float got = row.f(row.x);
    CAPTURE(row.name, row.x, row.y, got);
    CHECK((std::isnan(row.y) ? std::isnan(got) : got == row.y));
  }
}

TEST_CASE("elementwise ops are their functions, in both dtypes and for any strides; NaN passes all of them", "[tensor]") {
  struct Row {
    const char* name;
    Tensor (*op)(const Tensor&);
    double (*f)(double);
    double ulp;
  };
  const Row table[] = {
      {"exp", ringlet::exp, std::exp, 1.02},
      {"log", ringlet::log, std::log, 0.9},
      {"sqrt", ringlet::sqrt, std::sqrt, 0.5},
      {"rsqrt", ringlet::rsqrt, [](double x) { return 1 / std::sqrt(x); }, 1.5},
      {"square", ringlet::square, [](double x) { return x * x; }, 0.5},
      {"tanh", ringlet::tanh, std::tanh, 2.5},
      {"erf", ringlet::erf, std::erf, 1.2},
      {"sigmoid", ringlet::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 2.4},
      {"relu", ringlet::relu, [](double x) { return x > 0 ? x : 0; }, 0},
      {"step", ringlet::step, [](double x) { return x > 0 ? 1.0 : 0.0; }, 0},
      {"negate", [](const Tensor& x) { return -x; }, [](double x) { return -x; }, 0},
  };
  for (const Row& row : table) {
    for (const DType dtype : {DType::F32, DType::F64}) {
      const bool positive = row.op == ringlet::log || row.op == ringlet::sqrt || row.op == ringlet::rsqrt;
      Tensor x = normal({5, 7}, row.name, dtype);
      x = positive ? square(x) : x;
      const double eps = dtype == DType::F32 ? 0x1p-23 : 0x1p-52;
      for (const Tensor& view : {x, x.transpose(0, 1), x.narrow(1, 2, 3), x.narrow(0, 1, 0)}) {
        const Tensor y = row.op(view);
        REQUIRE(y.shape() == view.shape());
        REQUIRE(y.dtype() == dtype);
        for (int64_t i = 0; i < y.numel(); ++i) {
          const double expected = row.f(view.at(i)), ulp = dtype == DType::F32 ? row.ulp : row.ulp + 2;  // libm twice
          CAPTURE(row.name, view.at(i), expected, y.at(i));
          REQUIRE(std::fabs(y.at(i) - expected) <= ulp * eps * std::fabs(expected));
        }
      }
      CHECK(std::isnan(row.op(Tensor::full({3}, kNan, dtype)).at(1)));
    }
    CHECK_THROWS_WITH(row.op(Tensor::zeros({2}, DType::I32)),
                      Catch::Matchers::Contains(std::string(row.name) + ": needs f32 or f64, got i32"));
    CHECK_THROWS_AS(row.op(Tensor()), Error);
  }
}
