#include "tensor/kernels/cuda/elementwise.h"

#include "tensor/kernels/cuda/map.cuh"

namespace ringlet::kernels::cuda {
namespace {

// clang-format off
struct Negate { template <typename A> __device__ A operator()(A v) const { return -v; } };
struct Exp { template <typename A> __device__ A operator()(A v) const { return exp(v); } };
struct Log { template <typename A> __device__ A operator()(A v) const { return log(v); } };
struct Sqrt { template <typename A> __device__ A operator()(A v) const { return sqrt(v); } };
struct Rsqrt { template <typename A> __device__ A operator()(A v) const { return A(1) / sqrt(v); } };
struct Square { template <typename A> __device__ A operator()(A v) const { return v * v; } };
struct Tanh { template <typename A> __device__ A operator()(A v) const { return tanh(v); } };
struct Erf { template <typename A> __device__ A operator()(A v) const { return erf(v); } };
struct Sigmoid { template <typename A> __device__ A operator()(A v) const { return sigmoid(v); } };
// A NaN is not ≤ 0: it passes.
struct Relu { template <typename A> __device__ A operator()(A v) const { return v <= A(0) ? A(0) : v; } };
struct Step { template <typename A> __device__ A operator()(A v) const { return v > A(0) ? A(1) : v <= A(0) ? A(0) : v; } };
// clang-format on

}  // namespace

template <typename T>
void elementwise(Function function, const Runs& runs, T* y, const T* x) {
  switch (function) {
    case Function::Negate: return map(runs, y, x, Negate{});
    case Function::Exp: return map(runs, y, x, Exp{});
    case Function::Log: return map(runs, y, x, Log{});
    case Function::Sqrt: return map(runs, y, x, Sqrt{});
    case Function::Rsqrt: return map(runs, y, x, Rsqrt{});
    case Function::Square: return map(runs, y, x, Square{});
    case Function::Tanh: return map(runs, y, x, Tanh{});
    case Function::Erf: return map(runs, y, x, Erf{});
    case Function::Sigmoid: return map(runs, y, x, Sigmoid{});
    case Function::Relu: return map(runs, y, x, Relu{});
    case Function::Step: return map(runs, y, x, Step{});
  }
}

template void elementwise(Function, const Runs&, float*, const float*);
template void elementwise(Function, const Runs&, double*, const double*);
template void elementwise(Function, const Runs&, bf16*, const bf16*);

}  // namespace ringlet::kernels::cuda
