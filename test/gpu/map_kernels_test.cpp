// Elementwise kernels on the GPU: the bits of the CPU where arithmetic is exact, else within what the functions' ulp add up to.
#include <limits>

#include "tensor/kernels/cuda/arithmetic.h"
#include "tensor/kernels/cuda/dropout.h"
#include "tensor/kernels/cuda/elementwise.h"
#include "tensor/kernels/cuda/gelu.h"
#include "test/gpu/bound.h"
#include "test/gpu/shifted.h"

using namespace ringlet;
using namespace ringlet::test;
using kernels::Arithmetic, kernels::Function;

namespace {

constexpr int64_t kLengths[] = {0, 1, 7, 8, 9, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025};

constexpr Arithmetic kOperations[] = {Arithmetic::Add, Arithmetic::Subtract, Arithmetic::Multiply, Arithmetic::Divide};

// Zeros of both signs, infinities, NaN and large numbers among ordinary ones.
template <typename T>
std::vector<T> with_edges(int64_t n, const std::string& name) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kEdges[] = {0.0, -0.0, 1.0, kInf, -kInf, NAN, 50.0, -50.0, 1e4, -1e4, 1e-30};
  std::vector<T> values = operands<T>(n, name);
  for (size_t i = 0; i < std::min(values.size(), std::size(kEdges)); ++i) values[i] = static_cast<T>(kEdges[i]);
  return values;
}

// How y, a and b are laid out.
struct Layout {
  const char* name;
  Shape shape, y, a, b;
  int64_t elements;  // that each operand must hold
};
std::vector<Layout> layouts() {
  return {{"a row for all rows", {5, 24}, {24, 1}, {24, 1}, {0, 1}, 120},
          {"a number for each row", {5, 24}, {24, 1}, {24, 1}, {1, 0}, 120},
          {"odd rows", {7, 9}, {9, 1}, {9, 1}, {0, 1}, 63},
          {"one number", {3, 17}, {17, 1}, {17, 1}, {0, 0}, 51},
          {"a transposed", {16, 8}, {8, 1}, {1, 16}, {8, 1}, 128},
          {"a part of each row", {4, 8}, {8, 1}, {32, 1}, {16, 1}, 128},
          {"every other element", {33}, {1}, {2}, {3}, 99},
          {"four dims", {2, 3, 5, 8}, {120, 40, 8, 1}, {8, 16, 48, 1}, {0, 8, 0, 1}, 240},
          {"a result with gaps", {4, 8}, {12, 1}, {8, 1}, {8, 1}, 48},
          {"nothing", {0, 4}, {4, 1}, {4, 1}, {4, 1}, 4}};
}

}  // namespace

TEMPLATE_TEST_CASE("arithmetic on the GPU has the bits of the CPU", "[gpu]", float, double, bf16) {
  using T = TestType;
  using A = Accumulator<T>;
  for (const Arithmetic op : kOperations) {
    for (const int64_t n : kLengths) {
      const std::vector<T> a = with_edges<T>(n, "a"), b = operands<T>(n, "b");
      const kernels::Runs runs = kernels::merge_runs({n}, {1}, {1}, {1}), number = kernels::merge_runs({n}, {1}, {1}, {0});
      const T c = static_cast<T>(1.7);
      std::vector<A> y(a.size()), z(a.size());
      kernels::arithmetic<A>(op, runs, y.data(), widened(a).data(), widened(b).data());
      kernels::arithmetic_number<A>(op, number, z.data(), widened(a).data(), static_cast<A>(c));
      const std::vector<T> expected = narrowed<T>(y), expected_number = narrowed<T>(z);
      CAPTURE(static_cast<int>(op), n);
      for (const bool into : {false, true}) {
        const auto sum = at_every_offset([&](int64_t offset) {
          const Shifted<T> left(a, offset), right(b, offset), result(n, offset);
          into ? kernels::cuda::arithmetic_into(op, runs, left.data(), right.data())
               : kernels::cuda::arithmetic(op, runs, result.data(), left.data(), right.data());
          return (into ? left : result).values();
        });
        const auto with_number = at_every_offset([&](int64_t offset) {
          const Shifted<T> left(a, offset), result(n, offset);
          into ? kernels::cuda::arithmetic_number_into(op, number, left.data(), c)
               : kernels::cuda::arithmetic_number(op, number, result.data(), left.data(), c);
          return (into ? left : result).values();
        });
        check_close<T>(sum, widened(expected), [](size_t) { return 0.0; });
        check_close<T>(with_number, widened(expected_number), [](size_t) { return 0.0; });
      }
    }
  }
}

TEMPLATE_TEST_CASE("arithmetic on the GPU over every layout of operands", "[gpu]", float, double, bf16) {
  using T = TestType;
  using A = Accumulator<T>;
  for (const Layout& layout : layouts()) {
    const std::vector<T> a = operands<T>(layout.elements, "a"), b = operands<T>(layout.elements, "b");
    const kernels::Runs runs = kernels::merge_runs(layout.shape, layout.y, layout.a, layout.b);
    std::vector<A> y(a.size(), A(7));
    kernels::arithmetic<A>(Arithmetic::Multiply, runs, y.data(), widened(a).data(), widened(b).data());
    CAPTURE(layout.name);
    const auto result = at_every_offset([&](int64_t offset) {
      const Shifted<T> left(a, offset), right(b, offset), product(std::vector<T>(a.size(), static_cast<T>(7.0)), offset);
      kernels::cuda::arithmetic(Arithmetic::Multiply, runs, product.data(), left.data(), right.data());
      return product.values();
    });
    CHECK(same_bits(result, narrowed<T>(y)));
  }
}

TEMPLATE_TEST_CASE("functions on the GPU agree with the CPU", "[gpu]", float, double, bf16) {
  using T = TestType;
  using A = Accumulator<T>;
  for (int f = 0; f <= static_cast<int>(Function::Step); ++f) {
    const auto function = static_cast<Function>(f);
    // At most 4 ulp of CUDA's and 3 of cpu/math.h, 2 roundings each; e^x and the sigmoid are 0 below 2^−125 on the CPU.
    const bool exact = function == Function::Negate || function == Function::Sqrt || function == Function::Rsqrt ||
                       function == Function::Square || function >= Function::Relu;
    for (const int64_t n : kLengths) {
      const std::vector<T> x = with_edges<T>(n, "x");
      const kernels::Runs runs = kernels::merge_runs({n}, {1}, {1}, {1});
      std::vector<A> expected(x.size());
      kernels::elementwise<A>(function, runs, expected.data(), widened(x).data());
      CAPTURE(f, n);
      const auto result = at_every_offset([&](int64_t offset) {
        const Shifted<T> in(x, offset), out(n, offset);
        kernels::cuda::elementwise(function, runs, out.data(), in.data());
        return out.values();
      });
      check_close<T>(result, expected, [&](size_t i) {
        return exact ? 0.0 : 14 * kRounding<A> * std::fabs(static_cast<double>(expected[i])) + 0x1p-125;
      });
    }
  }
}

namespace {

// What rounding costs, in units of u: Φ errs by 8, tanh by 8, and an error of t = tanh(u) counts (1 + x·u')/2 times.
double tanh_weight(double x) { return 1 + std::fabs(x) * 0.8 * (1 + 0.135 * x * x); }
double bounded(double x) { return std::isnan(x) ? x : std::min(40.0, std::max(-40.0, x)); }

}  // namespace

TEMPLATE_TEST_CASE("GELU on the GPU agrees with the CPU, forward and backward", "[gpu]", float, double, bf16) {
  using T = TestType;
  using A = Accumulator<T>;
  constexpr double u = kRounding<A>;
  for (const int64_t n : kLengths) {
    const std::vector<T> x = with_edges<T>(n, "x"), dy = operands<T>(n, "dy");
    const std::vector<A> wide = widened(x), wide_dy = widened(dy);
    const auto forward = [&](auto cpu, auto gpu) {
      std::vector<A> y(x.size());
      cpu(wide.data(), y.data(), n);
      const auto result = at_every_offset([&](int64_t offset) {
        const Shifted<T> in(x, offset), out(n, offset);
        gpu(in.data(), out.data(), n);
        return out.values();
      });
      check_close<T>(result, y, [&](size_t i) { return 10 * u * std::fabs(static_cast<double>(wide[i])); });
    };
    const auto backward = [&](auto cpu, auto gpu, bool tanh_form) {
      std::vector<A> dx(x.size());
      cpu(wide_dy.data(), wide.data(), dx.data(), n);
      const auto result = at_every_offset([&](int64_t offset) {
        const Shifted<T> gradient(dy, offset), in(x, offset), out(n, offset);
        gpu(gradient.data(), in.data(), out.data(), n);
        return out.values();
      });
      check_close<T>(result, dx, [&](size_t i) {
        const double v = bounded(static_cast<double>(wide[i]));
        return 16 * u * std::fabs(static_cast<double>(wide_dy[i])) * (tanh_form ? tanh_weight(v) : 1.0);
      });
    };
    CAPTURE(n);
    forward(kernels::gelu_erf<A>, kernels::cuda::gelu_erf<T>);
    forward(kernels::gelu_tanh<A>, kernels::cuda::gelu_tanh<T>);
    backward(kernels::gelu_erf_backward<A>, kernels::cuda::gelu_erf_backward<T>, false);
    backward(kernels::gelu_tanh_backward<A>, kernels::cuda::gelu_tanh_backward<T>, true);
  }
}

TEMPLATE_TEST_CASE("dropout on the GPU keeps and scales what the CPU does, to the bit", "[gpu]", float, double, bf16) {
  using T = TestType;
  using A = Accumulator<T>;
  const RandomStream stream(3, "dropout", 5);
  for (const int64_t n : kLengths) {
    const std::vector<T> x = operands<T>(n, "x");
    for (const uint64_t first : {uint64_t{0}, uint64_t{3}, uint64_t{4096}, (uint64_t{1} << 34) + 2}) {
      std::vector<A> y(x.size());
      kernels::dropout<A>(widened(x).data(), y.data(), n, 0.3, stream, first);
      CAPTURE(n, first);
      const auto result = at_every_offset([&](int64_t offset) {
        const Shifted<T> in(x, offset), out(n, offset);
        kernels::cuda::dropout(in.data(), out.data(), n, 0.3, stream, first);
        return out.values();
      });
      CHECK(same_bits(result, narrowed<T>(y)));
    }
  }
}
