#include "tensor/ops/gelu.h"

#include "tensor/ops/dispatch.h"

namespace ringlet {

Tensor gelu(const Tensor& x, GeluForm form) {
  const Tensor v = x.contiguous();
  return with_kernels("gelu", v, [&]<typename T>(const kernels::Table<T>& kernel) {
    Tensor y = Tensor::empty(v.device(), v.shape(), v.dtype());
    const auto gelu = form == GeluForm::Erf ? kernel.gelu_erf : kernel.gelu_tanh;
    gelu(v.data<T>(), y.mutable_data<T>(), v.numel());
    return y;
  });
}

Tensor gelu_backward(const Tensor& dy, const Tensor& x, GeluForm form) {
  check_shape("gelu_backward: dy", dy, x.shape());
  check_dtype("gelu_backward: dy", dy, x.dtype());
  const Tensor gradient = dy.contiguous(), v = x.contiguous();
  check_same_device("gelu_backward", v, {&dy});
  return with_kernels("gelu_backward", v, [&]<typename T>(const kernels::Table<T>& kernel) {
    Tensor dx = Tensor::empty(v.device(), v.shape(), v.dtype());
    const auto backward = form == GeluForm::Erf ? kernel.gelu_erf_backward : kernel.gelu_tanh_backward;
    backward(gradient.data<T>(), v.data<T>(), dx.mutable_data<T>(), v.numel());
    return dx;
  });
}

}  // namespace ringlet
