#include "tensor/ops/reduce.h"

#include <limits>

#include "tensor/ops/arithmetic.h"
#include "test/support/catch.h"
#include "test/tensor/values.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

// Small integers, whose sums are exact in any order.
Tensor integers(const Shape& shape, DType dtype) {
  Tensor x = Tensor::empty(shape, DType::F64);
  for (int64_t i = 0; i < x.numel(); ++i) {
    x.mutable_data<double>()[i] = static_cast<double>(i * 7919 % 31 - 15);
  }
  return x.to(dtype);
}

struct Expected {
  std::vector<double> sum, max;
};
Expected reduce(const Tensor& x, int dim) {
  int64_t inner = 1;
  for (int d = dim + 1; d < x.rank(); ++d) inner *= x.dim(d);
  const int64_t n = x.dim(dim), outer = x.numel() == 0 ? 0 : x.numel() / n / inner;
  Expected out{std::vector<double>(outer * inner, 0.0), std::vector<double>(outer * inner, -kInf)};
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t k = 0; k < n; ++k) {
      for (int64_t i = 0; i < inner; ++i) {
        const double value = x.at((o * n + k) * inner + i);
        out.sum[o * inner + i] += value;
        out.max[o * inner + i] = std::max(out.max[o * inner + i], value);
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("sums, means and maxima over each dim are exact on small integers", "[tensor]") {
  for (const Shape& shape : {Shape{1}, Shape{7}, Shape{3, 5}, Shape{64, 32}, Shape{2, 65, 3}, Shape{4, 1, 100},
                             Shape{2, 3, 129, 2}, Shape{1100, 2}, Shape{2, 3000}}) {
    for (const DType dtype : {DType::F32, DType::F64}) {
      const Tensor x = integers(shape, dtype);
      for (int dim = 0; dim < shape.rank(); ++dim) {
        const Expected expected = reduce(x, dim);
        CAPTURE(to_text(shape), dim, to_text(dtype));
        REQUIRE(sum(x, dim).shape() == shape.with(dim, 1));
        REQUIRE(sum(x, dim).to_vector() == expected.sum);
        REQUIRE(same_bits(sum(x, dim - shape.rank()), sum(x, dim)));
        REQUIRE(max(x, dim).to_vector() == expected.max);
        const Tensor means = sum(x, dim) * 1.0;
        for (int64_t i = 0; i < means.numel(); ++i) {
          REQUIRE(mean(x, dim).at(i) == Approx(expected.sum[i] / static_cast<double>(shape[dim])).epsilon(1e-6));
        }
        const Tensor view = x.transpose(0, -1);
        REQUIRE(sum(view, dim).to_vector() == reduce(view.contiguous(), dim).sum);
      }
      double total = 0;
      for (const double value : x.to_vector()) total += value;
      REQUIRE(sum(x).item() == total);
      REQUIRE(sum(x).shape() == Shape{});
    }
  }
}

TEST_CASE("reductions of no elements: a sum is 0, a mean or a maximum is an error", "[tensor]") {
  const Tensor none = Tensor::zeros({3, 0, 2});
  CHECK(sum(none).item() == 0);
  CHECK(same_bits(sum(none, 1), Tensor::zeros({3, 1, 2})));
  CHECK(sum(none, 0).shape() == Shape{1, 0, 2});
  CHECK(max(none, 0).numel() == 0);
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(mean(none), Contains("mean: there is no mean of no elements, shape [3, 0, 2]"));
  CHECK_THROWS_WITH(mean(none, 1), Contains("dim 1 of shape [3, 0, 2]"));
  CHECK_THROWS_WITH(max(none, 1), Contains("max: there is no maximum of no elements"));
  CHECK_THROWS_WITH(sum(none, 3), Contains("dim 3 of a shape with 3 dims"));
  CHECK_THROWS_WITH(sum(Tensor::zeros({2}, DType::I64)), Contains("sum: needs f32 or f64, got i64"));
}

TEST_CASE("[B9] long sums do not drift", "[tensor]") {
  constexpr int64_t kMany = int64_t{1} << 25;
  CHECK(mean(Tensor::full({kMany}, 1)).item() == 1.0);  // a running sum stops at 2^24: 0.5
  CHECK(mean(Tensor::full({kMany / 4, 4}, 1), 0).to_vector() == std::vector<double>{1, 1, 1, 1});
  CHECK(std::sqrt(squared_norm(Tensor::full({kMany}, 1e-4))) == Approx(0.5792619).epsilon(1e-7));
  // A constant that is no power of two: every addition to a long running sum would round the same way.
  constexpr int64_t kTenths = 1 << 22;
  const double tenths = sum(Tensor::full({kTenths}, 0.1)).item(), exact = kTenths * static_cast<double>(0.1F);
  CHECK(std::fabs(tenths - exact) <= (64 + 4 + 12) * 0x1p-24 * exact);
  const Tensor brain = Tensor::full({600}, 1, DType::BF16);
  CHECK(sum(brain).item() == 600);  // a running sum in bf16 stops at 256
  CHECK(sum(brain).dtype() == DType::F32);
}

TEST_CASE("the error of a sum grows with the number of additions in its longest chain", "[tensor]") {
  for (const int64_t n : {100, 1024, 5000, 100000}) {
    const Tensor x = normal({n}, "error"), magnitude = Tensor::from(x.to_vector(), {n});
    double exact = 0, absolute = 0;
    for (const double value : x.to_vector()) {
      exact += value;
      absolute += std::fabs(value);
    }
    const double chain =
        static_cast<double>(std::min<int64_t>(n / 16 + 1, 64)) + 4 + std::log2(static_cast<double>(n) / 1024 + 2);
    CHECK(std::fabs(sum(x).item() - exact) <= chain * 0x1p-24 * absolute);
    const Tensor columns = sum(x.view({n, 1}).expand({n, 3}), 0);
    CHECK(std::fabs(columns.at(1) - exact) <= (64 + std::log2(static_cast<double>(n) / 64 + 2)) * 0x1p-24 * absolute);
  }
}

TEST_CASE("[D1] sum_to takes back what broadcasting stretched", "[tensor]") {
  const Tensor a = Tensor::from<float>({1, 2}, {2, 1}), b = Tensor::from<float>({3, 4, 5}, {1, 3}),
               ones = Tensor::full({2, 3}, 1);
  CHECK(sum_to(ones * b, a.shape()).to_vector() == std::vector<double>{12, 12});
  CHECK(sum_to(ones * a, b.shape()).to_vector() == std::vector<double>{3, 3, 3});
  CHECK(sum_to(Tensor::full({2, 2, 3}, 1), {3}).to_vector() == std::vector<double>{4, 4, 4});
  CHECK(sum_to(Tensor::full({5, 4}, 1), {1}).to_vector() == std::vector<double>{20});
  CHECK(sum_to(Tensor::full({5, 4}, 1), {}).item() == 20);
  const Tensor x = integers({2, 3, 4, 5}, DType::F32);
  for (const Shape& shape : {Shape{3, 1, 5}, Shape{2, 1, 4, 1}, Shape{1, 1, 1, 1}, Shape{4, 5}, Shape{5}}) {
    const Tensor y = sum_to(x, shape);
    CAPTURE(to_text(shape));
    REQUIRE(y.shape() == shape);
    double total = 0;  // <sum_to(x), w> = <x, expand(w)> for any w: they are transposes of each other
    const Tensor w = integers(shape, DType::F32), product = x * w.expand(x.shape());
    for (int64_t i = 0; i < y.numel(); ++i) total += y.at(i) * w.at(i);
    CHECK(total == sum(product).item());
  }
  CHECK(sum_to(x, x.shape()).shares_storage(x));
  CHECK(same_bits(sum_to(Tensor::zeros({0, 3}), {3}), Tensor::zeros({3})));
  CHECK_THROWS_WITH(sum_to(x, {2, 5}), Catch::Matchers::Contains("sum_to"));
  CHECK_THROWS_WITH(sum_to(Tensor::zeros({3}), {2, 3}), Catch::Matchers::Contains("sum_to"));
}

TEST_CASE("NaN and infinities are seen wherever they stand", "[tensor]") {
  for (const DType dtype : {DType::F32, DType::F64}) {
    for (const int64_t at : {0, 1, 15, 16, 17, 40, 99}) {
      for (const double bad : {kNan, kInf, -kInf}) {
        Tensor x = normal({100}, "finite", dtype);
        CHECK(all_finite(x));
        Tensor(x.narrow(0, at, 1)).fill(bad);
        CAPTURE(at, bad);
        CHECK_FALSE(all_finite(x));
        CHECK_FALSE(all_finite(x.view({10, 10}).transpose(0, 1)));
        const double largest = max(x, 0).item(), column = max(x.view({100, 1}).expand({100, 2}), 0).at(1);
        CHECK((std::isnan(bad) ? std::isnan(largest) && std::isnan(column) : (largest == kInf) == (bad == kInf)));
        CHECK_FALSE(std::isfinite(sum(x).item()));
        CHECK_FALSE(std::isfinite(squared_norm(x)));
      }
    }
  }
  CHECK(all_finite(Tensor::full({3}, std::numeric_limits<float>::max())));
  CHECK(std::isfinite(squared_norm(Tensor::full({1000}, std::numeric_limits<float>::max()))));
  CHECK(max(Tensor::full({3}, -kInf), 0).item() == -kInf);
}
