// Sums and maxima on the GPU against those of the CPU, along rows and columns, at lengths around a warp, a block and a chunk.
#include <limits>

#include "tensor/kernels/cuda/reduce.h"
#include "test/gpu/bound.h"
#include "test/gpu/shifted.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

struct Size {
  int64_t outer, n, inner;
};
constexpr Size kSizes[] = {{0, 4, 1},     {3, 0, 1},     {1, 1, 1},     {9, 31, 1},    {3, 32, 1},   {2, 33, 1},   {2, 255, 1},
                           {2, 256, 1},   {9, 257, 1},   {2, 1023, 1},  {17, 1024, 1}, {2, 1025, 1}, {1, 8192, 1}, {1, 8193, 1},
                           {2, 16384, 1}, {2, 16385, 1}, {1, 50000, 1}, {2, 0, 3},     {2, 1, 5},    {1, 31, 32},  {1, 32, 33},
                           {3, 33, 31},   {1, 255, 257}, {1, 256, 2},   {2, 257, 40},  {1, 70000, 3}};
constexpr int64_t kLengths[] = {0, 1, 7, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 16384, 16385, 40000};

// Σ_k |x[o, k, i]| for element (o, i) of the result.
template <typename T>
std::vector<double> magnitudes(const std::vector<T>& x, Size size) {
  std::vector<double> sums(static_cast<size_t>(size.outer * size.inner));
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t position = static_cast<int64_t>(i);
    sums[static_cast<size_t>(position / (size.n * size.inner) * size.inner + position % size.inner)] +=
        std::fabs(static_cast<double>(x[i]));
  }
  return sums;
}

template <typename T, typename Kernel>
std::vector<T> reduced(const std::vector<T>& x, Size size, Kernel&& kernel) {
  return at_every_offset([&](int64_t offset) {
    const Shifted<T> in(x, offset), out(size.outer * size.inner, offset);
    kernel(in.data(), out.data(), size.outer, size.n, size.inner);
    return out.values();
  });
}

}  // namespace

TEMPLATE_TEST_CASE("sum and max on the GPU agree with the CPU", "[gpu]", float, double, bf16) {
  using T = TestType;
  using A = Accumulator<T>;
  for (const Size size : kSizes) {
    const auto [outer, n, inner] = size;
    const std::vector<T> x = operands<T>(outer * n * inner, "x");
    std::vector<A> sum(static_cast<size_t>(outer * inner)), max(sum);
    kernels::sum<A>(widened(x).data(), sum.data(), outer, n, inner);
    const std::vector<double> magnitude = magnitudes(x, size);
    const double chain = kRounding<A> * (inner == 1 ? row_chain(n) : column_chain(n));
    CAPTURE(outer, n, inner);
    check_close<T>(reduced(x, size, kernels::cuda::sum<T>), sum, [&](size_t i) { return chain * magnitude[i]; });
    if (n > 0) {
      kernels::max<A>(widened(x).data(), max.data(), outer, n, inner);
      CHECK(same_bits(reduced(x, size, kernels::cuda::max<T>), narrowed<T>(max)));
    }
  }
}

TEMPLATE_TEST_CASE("a NaN anywhere is the maximum on the GPU, and −inf alone is −inf", "[gpu]", float, double, bf16) {
  using T = TestType;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const Size size : {Size{1, 70, 1}, Size{1, 1300, 1}, Size{1, 20000, 1}, Size{1, 300, 2}}) {
    std::vector<T> x(static_cast<size_t>(size.n * size.inner), static_cast<T>(-kInf));
    for (const int64_t at : {int64_t{0}, size.n / 3, size.n - 1}) {
      std::vector<T> one_nan = x;
      one_nan[static_cast<size_t>(at * size.inner)] = static_cast<T>(NAN);
      CAPTURE(size.n, size.inner, at);
      CHECK(std::isnan(static_cast<double>(reduced(one_nan, size, kernels::cuda::max<T>)[0])));
    }
    CHECK(static_cast<double>(reduced(x, size, kernels::cuda::max<T>)[0]) == -kInf);
  }
}

TEMPLATE_TEST_CASE("a sum of small whole numbers on the GPU is exact", "[gpu]", float, double) {
  using T = TestType;
  for (const int64_t n : kLengths) {
    std::vector<T> x(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) x[static_cast<size_t>(i)] = static_cast<T>(i % 17 - 5);
    double total = 0;
    for (const T value : x) total += static_cast<double>(value);
    CAPTURE(n);
    CHECK(static_cast<double>(reduced(x, Size{1, n, 1}, kernels::cuda::sum<T>)[0]) == total);
  }
}

TEMPLATE_TEST_CASE("the squared norm on the GPU is the CPU's to the rounding of fp64", "[gpu]", float, double, bf16) {
  using T = TestType;
  using A = Accumulator<T>;
  for (const int64_t n : kLengths) {
    const std::vector<T> x = operands<T>(n, "x");
    std::vector<double> expected(1);
    kernels::squared_norm<A>(widened(x).data(), n, expected.data());
    const auto result = at_every_offset([&](int64_t offset) {
      const Shifted<T> in(x, offset);
      const Shifted<double> out(1, offset);
      kernels::cuda::squared_norm(in.data(), n, out.data());
      return out.values();
    });
    CAPTURE(n);
    check_close<double>(result, expected, [&](size_t) { return kRounding<double> * (row_chain(n) + 2) * expected[0]; });
  }
}

TEMPLATE_TEST_CASE("one number that is not finite is found on the GPU wherever it stands", "[gpu]", float, double, bf16) {
  using T = TestType;
  const auto finite = [](const std::vector<T>& x) {
    return at_every_offset([&](int64_t offset) {
      const Shifted<T> in(x, offset);
      const Shifted<int32_t> out(1, offset);
      kernels::cuda::all_finite(in.data(), static_cast<int64_t>(x.size()), out.data());
      return out.values();
    })[0];
  };
  for (const int64_t n : kLengths) {
    std::vector<T> x = operands<T>(n, "x");
    CAPTURE(n);
    CHECK(finite(x) == 1);
    for (const double bad : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), double{NAN}}) {
      if (n > 0) {
        std::vector<T> one = x;
        one[static_cast<size_t>((n * 5) % (n + 2) % n)] = static_cast<T>(bad);
        CHECK(finite(one) == 0);
      }
    }
  }
  CHECK(finite(std::vector<T>{
            static_cast<T>(std::numeric_limits<Accumulator<T>>::max() * static_cast<Accumulator<T>>(0.99))}) == 1);
}
