#include "tensor/kernels/cpu/gelu.h"

#include <cmath>

#include "tensor/kernels/cpu/math.h"
#include "tensor/kernels/cpu/parallel.h"

namespace ringlet::kernels {
namespace {

constexpr int64_t kWork = 16;  // per element, in additions

// Beyond ±40 both forms are x or 0 to the last bit of an fp64, but inf·0 would be NaN. NaN passes.
template <typename T>
T bounded(T x) {
  const T above = x < T(-40) ? T(-40) : x;
  return above > T(40) ? T(40) : above;
}

// Φ(x) = (1 + erf(x/√2)) / 2     φ(x) = exp(−x²/2) / √(2π)
template <typename T>
struct Normal {
  T cdf, density;
};
inline Normal<double> normal(double x) {
  return {0.5 + 0.5 * erf(x * 0.70710678118654752440), 0.39894228040143267794 * exp(-0.5 * x * x)};
}
// fp32: both from one exponential, Φ(−|x|) = exp(−x²/2)·R(|x|), R a polynomial in |x| − 2.8 up to 5.6 (fitted as in math.h, Φ to
// 1.7e-8) and constant beyond, where Φ(−|x|) < 1.1e-8.
inline Normal<float> normal(float x) {
  const float a = std::fabs(x), s = (5.6F < a ? 5.6F : a) - 2.8F, e = exp(-0.5F * x * x);
  float r = -3.1547600087833416e-07F;
  r = std::fma(r, s, -2.0092379600100685e-06F);
  r = std::fma(r, s, -4.9847330956254154e-06F);
  r = std::fma(r, s, 4.161316155659733e-06F);
  r = std::fma(r, s, 1.6367968783015385e-05F);
  r = std::fma(r, s, 6.986872904235497e-05F);
  r = std::fma(r, s, -0.00017726808437146246F);
  r = std::fma(r, s, 0.0006603230722248554F);
  r = std::fma(r, s, -0.002834242768585682F);
  r = std::fma(r, s, 0.010692492127418518F);
  r = std::fma(r, s, -0.03835374116897583F);
  r = std::fma(r, s, 0.12878018617630005F);
  return {x < 0.0F ? e * r : 1.0F - e * r, 0.39894228040143267794F * e};
}

// t = tanh(u), u = √(2/π)·(x + 0.044715·x³)
constexpr double kRootTwoOverPi = 0.79788456080286535588, kCubic = 0.044715;
template <typename T>
T tanh_of_cubic(T x) {
  return tanh(T(kRootTwoOverPi) * (x + T(kCubic) * x * x * x));
}

template <typename T, typename F>
void map(const T* x, T* y, int64_t n, F f) {
  parallel_ranges(n, kWork, [=](int64_t begin, int64_t end) {
    const T* in = x;
    T* __restrict out = y;
    for (int64_t i = begin; i < end; ++i) {
      out[i] = f(in[i]);
    }
  });
}

template <typename T, typename F>
void map_backward(const T* dy, const T* x, T* dx, int64_t n, F slope) {
  parallel_ranges(n, kWork, [=](int64_t begin, int64_t end) {
    const T *in = x, *gradient = dy;
    T* __restrict out = dx;
    for (int64_t i = begin; i < end; ++i) {
      out[i] = gradient[i] * slope(bounded(in[i]));
    }
  });
}

}  // namespace

// y = x·Φ(x)
template <typename T>
void gelu_erf(const T* x, T* y, int64_t n) {
  map(x, y, n, [](T v) { return (v < T(-40) ? T(-40) : v) * normal(v).cdf; });
}

// dx = dy·(Φ(x) + x·φ(x))
template <typename T>
void gelu_erf_backward(const T* dy, const T* x, T* dx, int64_t n) {
  map_backward(dy, x, dx, n, [](T v) {
    const auto [cdf, density] = normal(v);
    return cdf + v * density;
  });
}

// y = x·(1 + t)/2
template <typename T>
void gelu_tanh(const T* x, T* y, int64_t n) {
  map(x, y, n, [](T v) {
    const T inside = v < T(-40) ? T(-40) : v;
    return inside * (T(0.5) + T(0.5) * tanh_of_cubic(inside));
  });
}

// dx = dy·((1 + t)/2 + x·(1 − t²)·u'/2),  u' = √(2/π)·(1 + 3·0.044715·x²)
template <typename T>
void gelu_tanh_backward(const T* dy, const T* x, T* dx, int64_t n) {
  map_backward(dy, x, dx, n, [](T v) {
    const T t = tanh_of_cubic(v);
    const T du = T(kRootTwoOverPi) * (T(1) + T(3 * kCubic) * v * v);
    return T(0.5) * (T(1) + t) + T(0.5) * v * (T(1) - t * t) * du;
  });
}

template void gelu_erf(const float*, float*, int64_t);
template void gelu_erf(const double*, double*, int64_t);
template void gelu_erf_backward(const float*, const float*, float*, int64_t);
template void gelu_erf_backward(const double*, const double*, double*, int64_t);
template void gelu_tanh(const float*, float*, int64_t);
template void gelu_tanh(const double*, double*, int64_t);
template void gelu_tanh_backward(const float*, const float*, float*, int64_t);
template void gelu_tanh_backward(const double*, const double*, double*, int64_t);

}  // namespace ringlet::kernels
