#include "tensor/kernels/cpu/elementwise.h"

#include <cmath>

#include "tensor/kernels/cpu/math.h"

namespace ringlet::kernels {
namespace {

template <typename T, typename F>
void loop(const Runs& runs, T* y, const T* x, F f) {
  const int64_t sy = runs.y[0], sx = runs.a[0];
  for_each_run(runs, [=](const Run& run) {
    T* __restrict out = y + run.y;
    const T* in = x + run.a;
    if (sy == 1 && sx == 1) {
      for (int64_t i = 0; i < run.length; ++i) {
        out[i] = f(in[i]);
      }
    } else {
      for (int64_t i = 0; i < run.length; ++i) {
        out[i * sy] = f(in[i * sx]);
      }
    }
  });
}

}  // namespace

template <typename T>
void elementwise(Function function, const Runs& runs, T* y, const T* x) {
  const auto run = [&](auto f) { loop(runs, y, x, f); };
  switch (function) {
    case Function::Negate: return run([](T v) { return -v; });
    case Function::Exp: return run([](T v) { return exp(v); });
    case Function::Log: return run([](T v) { return log(v); });
    case Function::Sqrt: return run([](T v) { return std::sqrt(v); });
    case Function::Rsqrt: return run([](T v) { return T(1) / std::sqrt(v); });
    case Function::Square: return run([](T v) { return v * v; });
    case Function::Tanh: return run([](T v) { return tanh(v); });
    case Function::Erf: return run([](T v) { return erf(v); });
    case Function::Sigmoid: return run([](T v) { return sigmoid(v); });
    case Function::Relu: return run([](T v) { return v <= T(0) ? T(0) : v; });  // a NaN is not ≤ 0: it passes
    case Function::Step: return run([](T v) { return v > T(0) ? T(1) : v <= T(0) ? T(0) : v; });
  }
}

template void elementwise(Function, const Runs&, float*, const float*);
template void elementwise(Function, const Runs&, double*, const double*);

}  // namespace ringlet::kernels
