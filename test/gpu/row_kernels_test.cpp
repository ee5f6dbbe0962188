// Kernels over rows on the GPU against those of the CPU: reductions, softmax, LayerNorm and cross entropy, at lengths around every
// edge of a pack, a warp, a block and a chunk.
#include <limits>

#include "tensor/kernels/cuda/cross_entropy.h"
#include "tensor/kernels/cuda/layer_norm.h"
#include "tensor/kernels/cuda/softmax.h"
#include "test/gpu/bound.h"
#include "test/gpu/shifted.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Size {
  int64_t rows, n;
};
// A warp to a row, 8 rows to a block, up to 1,024; then a block; rows of 4k elements in packs.
constexpr Size kSizes[] = {{0, 5},   {1, 1},    {3, 7},    {9, 8},    {8, 31},   {17, 32},  {3, 33},   {2, 255},  {2, 256},
                           {3, 257}, {2, 1023}, {9, 1024}, {2, 1025}, {2, 2048}, {1, 8193}, {2, 8200}, {1, 20001}};

template <typename T>
double at(const std::vector<T>& values, int64_t i) {
  return static_cast<double>(values[static_cast<size_t>(i)]);
}

// Sums of what a rule gives for the elements of a row.
template <typename F>
double sum_of(int64_t n, F&& f) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += f(i);
  return sum;
}

}  // namespace

TEMPLATE_TEST_CASE("softmax on the GPU agrees with the CPU, forward and backward", "[gpu]", float, double, bf16) {
  using T = TestType;
  using A = Accumulator<T>;
  constexpr double u = kRounding<A>;
  for (const auto [rows, n] : kSizes) {
    std::vector<T> x = operands<T>(rows * n, "x");
    const std::vector<T> dp = operands<T>(rows * n, "dp");
    for (int64_t i = 0; i < n && rows > 2; ++i) {  // one row masked up to its last element, one whole
      x[static_cast<size_t>(n + i)] = static_cast<T>(i + 1 < n ? -kInf : 2.0);
      x[static_cast<size_t>(2 * n + i)] = static_cast<T>(-kInf);
    }
    std::vector<A> p(x.size()), dx(x.size());
    kernels::softmax<A>(widened(x).data(), p.data(), rows, n);
    CAPTURE(rows, n);
    const auto forward = at_every_offset([&, rows = rows, n = n](int64_t offset) {
      const Shifted<T> in(x, offset), out(rows * n, offset);
      kernels::cuda::softmax(in.data(), out.data(), rows, n);
      return out.values();
    });
    // A sum of positive numbers, each scaled once a pack at most; |x − m| < 16 costs that many roundings in front of exp.
    check_close<T>(forward, p,
                   [&, n = n](size_t i) { return u * (2 * row_chain(n) + 40) * static_cast<double>(p[i]) + 0x1p-125; });

    kernels::softmax_backward<A>(widened(forward).data(), widened(dp).data(), dx.data(), rows, n);
    const auto backward = at_every_offset([&, rows = rows, n = n](int64_t offset) {
      const Shifted<T> in(forward, offset), gradient(dp, offset), out(rows * n, offset);
      kernels::cuda::softmax_backward(in.data(), gradient.data(), out.data(), rows, n);
      return out.values();
    });
    std::vector<double> dot;
    for (int64_t r = 0; r < rows; ++r) {
      dot.push_back(sum_of(n, [&, n = n](int64_t j) { return std::fabs(at(dp, r * n + j) * at(forward, r * n + j)); }));
    }
    check_close<T>(backward, dx, [&, n = n](size_t i) {
      const int64_t j = static_cast<int64_t>(i);
      return u * at(forward, j) * ((row_chain(n) + 4) * at(dot, j / n) + 4 * std::fabs(at(dp, j)));
    });
  }
}

TEMPLATE_TEST_CASE("softmax on the GPU of a row that is masked whole is exactly zero, with a NaN all NaN", "[gpu]", float,
                   double, bf16) {
  using T = TestType;
  for (const int64_t n : {1, 5, 64, 1025, 1032}) {
    std::vector<T> x(static_cast<size_t>(2 * n), static_cast<T>(-kInf));
    x.back() = static_cast<T>(NAN);
    const Shifted<T> in(x, 0), out(2 * n, 0);
    kernels::cuda::softmax(in.data(), out.data(), 2, n);
    const std::vector<T> p = out.values();
    for (int64_t i = 0; i < n; ++i) {
      REQUIRE(at(p, i) == 0.0);
      REQUIRE(std::isnan(at(p, n + i)));
    }
  }
}

namespace {

// Rounding of LayerNorm for one row, in units of 1: of the mean, and relative of ρ.
struct NormBound {
  double mean, rstd;
};
template <typename A>
NormBound norm_bound(const A* x, double rstd, int64_t C) {
  const double u = kRounding<A>, chain = row_chain(C);
  const double magnitude = sum_of(C, [&](int64_t c) { return std::fabs(static_cast<double>(x[c])); }) / static_cast<double>(C);
  return {u * chain * magnitude, u * (rstd * (chain + 1) * magnitude + chain / 2 + 4)};
}

template <typename T>
struct NormCase {
  using A = Accumulator<T>;
  int64_t rows, C;
  std::vector<T> x = operands<T>(rows * C, "x"), gamma = operands<T>(C, "gamma"), beta = operands<T>(C, "beta"),
                 dy = operands<T>(rows * C, "dy");
  std::vector<A> mean = std::vector<A>(static_cast<size_t>(rows)), rstd = mean;
};

template <typename T>
void check_layer_norm(NormCase<T>& norm, bool with_beta) {
  using A = Accumulator<T>;
  const auto [rows, C] = Size{norm.rows, norm.C};
  const std::vector<A> x = widened(norm.x), gamma = widened(norm.gamma), beta = widened(norm.beta);
  std::vector<A> y(x.size());
  kernels::layer_norm<A>(x.data(), gamma.data(), with_beta ? beta.data() : nullptr, 1e-5, y.data(), norm.mean.data(),
                         norm.rstd.data(), rows, C);
  std::vector<A> mean, rstd;
  const auto result = at_every_offset([&, rows = rows, C = C](int64_t offset) {
    const Shifted<T> in(norm.x, offset), scale(norm.gamma, offset), shift(norm.beta, offset), out(rows * C, offset);
    const Shifted<A> mu(rows, offset), rho(rows, offset);
    kernels::cuda::layer_norm(in.data(), scale.data(), with_beta ? shift.data() : nullptr, 1e-5, out.data(), mu.data(),
                              rho.data(), rows, C);
    mean = mu.values(), rstd = rho.values();
    return out.values();
  });
  std::vector<NormBound> bounds;
  for (int64_t r = 0; r < rows; ++r) bounds.push_back(norm_bound(x.data() + r * C, at(norm.rstd, r), C));
  const auto bound = [&](int64_t r) { return bounds[static_cast<size_t>(r)]; };
  check_close<A>(mean, norm.mean, [&](size_t r) { return bound(static_cast<int64_t>(r)).mean; });
  check_close<A>(rstd, norm.rstd,
                 [&](size_t r) { return bound(static_cast<int64_t>(r)).rstd * static_cast<double>(norm.rstd[r]); });
  check_close<T>(result, y, [&, C = C](size_t i) {
    const int64_t r = static_cast<int64_t>(i) / C, c = static_cast<int64_t>(i) % C;
    const double rho = at(norm.rstd, r), centred = std::fabs(at(x, r * C + c) - at(norm.mean, r));
    return std::fabs(at(gamma, c)) * (rho * (bound(r).mean + 2 * kRounding<A> * centred) + rho * centred * bound(r).rstd) +
           4 * kRounding<A> * (std::fabs(at(y, r * C + c)) + std::fabs(at(beta, c)));
  });
}

template <typename T>
void check_layer_norm_backward(const NormCase<T>& norm) {
  using A = Accumulator<T>;
  constexpr double u = kRounding<A>;
  const auto [rows, C] = Size{norm.rows, norm.C};
  const std::vector<A> x = widened(norm.x), gamma = widened(norm.gamma), dy = widened(norm.dy);
  std::vector<A> dx(x.size());
  kernels::layer_norm_backward<A>(dy.data(), x.data(), gamma.data(), norm.mean.data(), norm.rstd.data(), dx.data(), rows, C);
  const auto result = at_every_offset([&, rows = rows, C = C](int64_t offset) {
    const Shifted<T> gradient(norm.dy, offset), in(norm.x, offset), scale(norm.gamma, offset), out(rows * C, offset);
    const Shifted<A> mu(norm.mean, offset), rho(norm.rstd, offset);
    kernels::cuda::layer_norm_backward(gradient.data(), in.data(), scale.data(), mu.data(), rho.data(), out.data(), rows, C);
    return out.values();
  });
  const auto g = [&, C = C](int64_t r, int64_t c) { return std::fabs(at(dy, r * C + c) * at(gamma, c)); };
  const auto xhat = [&, C = C](int64_t r, int64_t c) {
    return std::fabs(at(x, r * C + c) - at(norm.mean, r)) * at(norm.rstd, r);
  };
  std::vector<double> mean_g, mean_gx;
  for (int64_t r = 0; r < rows; ++r) {
    mean_g.push_back(sum_of(C, [&](int64_t c) { return g(r, c); }) / static_cast<double>(C));
    mean_gx.push_back(sum_of(C, [&](int64_t c) { return g(r, c) * xhat(r, c); }) / static_cast<double>(C));
  }
  check_close<T>(result, dx, [&, C = C](size_t i) {
    const int64_t r = static_cast<int64_t>(i) / C, c = static_cast<int64_t>(i) % C;
    const double sums = (row_chain(C) + 8) * (at(mean_g, r) + xhat(r, c) * at(mean_gx, r));
    return u * at(norm.rstd, r) * (sums + 6 * g(r, c));
  });
}

template <typename T>
void check_layer_norm_weights(const NormCase<T>& norm) {
  using A = Accumulator<T>;
  const auto [rows, C] = Size{norm.rows, norm.C};
  const std::vector<A> x = widened(norm.x), dy = widened(norm.dy);
  std::vector<A> dgamma(norm.gamma.size()), dbeta(dgamma);
  kernels::layer_norm_backward_weights<A>(dy.data(), x.data(), norm.mean.data(), norm.rstd.data(), dgamma.data(), dbeta.data(),
                                          rows, C);
  std::vector<T> second;
  const auto first = at_every_offset([&, rows = rows, C = C](int64_t offset) {
    const Shifted<T> gradient(norm.dy, offset), in(norm.x, offset), to_gamma(C, offset), to_beta(C, offset);
    const Shifted<A> mu(norm.mean, offset), rho(norm.rstd, offset);
    kernels::cuda::layer_norm_backward_weights(gradient.data(), in.data(), mu.data(), rho.data(), to_gamma.data(),
                                               to_beta.data(), rows, C);
    second = to_beta.values();
    return to_gamma.values();
  });
  const double chain = kRounding<A> * (column_chain(rows) + 6);
  check_close<T>(first, dgamma, [&, rows = rows, C = C](size_t c) {
    return chain * sum_of(rows, [&](int64_t r) {
             const int64_t i = r * C + static_cast<int64_t>(c);
             return std::fabs(at(dy, i) * (at(x, i) - at(norm.mean, r)) * at(norm.rstd, r));
           });
  });
  check_close<T>(second, dbeta, [&, rows = rows, C = C](size_t c) {
    return chain * sum_of(rows, [&](int64_t r) { return std::fabs(at(dy, r * C + static_cast<int64_t>(c))); });
  });
}

}  // namespace

TEMPLATE_TEST_CASE("LayerNorm on the GPU agrees with the CPU, forward and backward", "[gpu]", float, double, bf16) {
  std::vector<Size> sizes(std::begin(kSizes), std::end(kSizes));
  sizes.insert(sizes.end(), {{31, 5}, {32, 40}, {256, 3}, {257, 33}, {700, 8}});  // chunks of rows
  for (const auto [rows, C] : sizes) {
    NormCase<TestType> norm{rows, C};
    CAPTURE(rows, C);
    check_layer_norm(norm, false);
    check_layer_norm(norm, true);
    check_layer_norm_backward(norm);
    check_layer_norm_weights(norm);
  }
}
