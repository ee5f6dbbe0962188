#include "tensor/ops/math.h"

#include "tensor/ops/dispatch.h"

namespace ringlet {
namespace {

using kernels::Function;

Tensor apply(std::string_view who, Function function, const Tensor& x) {
  return with_kernels(who, x, [&]<typename T>(const kernels::Table<T>& kernel) {
    Tensor y = Tensor::empty(x.device(), x.shape(), x.dtype());
    kernel.elementwise(function, kernels::merge_runs(x.shape(), y.strides(), x.strides(), x.strides()), y.mutable_data<T>(),
                       x.data<T>());
    return y;
  });
}

}  // namespace

Tensor exp(const Tensor& x) { return apply("exp", Function::Exp, x); }
Tensor log(const Tensor& x) { return apply("log", Function::Log, x); }
Tensor sqrt(const Tensor& x) { return apply("sqrt", Function::Sqrt, x); }
Tensor rsqrt(const Tensor& x) { return apply("rsqrt", Function::Rsqrt, x); }
Tensor square(const Tensor& x) { return apply("square", Function::Square, x); }
Tensor tanh(const Tensor& x) { return apply("tanh", Function::Tanh, x); }
Tensor erf(const Tensor& x) { return apply("erf", Function::Erf, x); }
Tensor sigmoid(const Tensor& x) { return apply("sigmoid", Function::Sigmoid, x); }
Tensor relu(const Tensor& x) { return apply("relu", Function::Relu, x); }
Tensor step(const Tensor& x) { return apply("step", Function::Step, x); }

}  // namespace ringlet
