#include "tensor/ops/gelu.h"

#include "tensor/kernels/cpu/gelu.h"

namespace ringlet {

Tensor gelu(const Tensor& x, GeluForm form) {
  const Tensor v = x.contiguous();
  return dispatch_real("gelu", v.dtype(), [&]<typename T>() {
    Tensor y = Tensor::empty(v.shape(), v.dtype());
    const auto kernel = form == GeluForm::Erf ? kernels::gelu_erf<T> : kernels::gelu_tanh<T>;
    kernel(v.data<T>(), y.mutable_data<T>(), v.numel());
    return y;
  });
}

Tensor gelu_backward(const Tensor& dy, const Tensor& x, GeluForm form) {
  check_shape("gelu_backward: dy", dy, x.shape());
  check_dtype("gelu_backward: dy", dy, x.dtype());
  const Tensor gradient = dy.contiguous(), v = x.contiguous();
  return dispatch_real("gelu_backward", v.dtype(), [&]<typename T>() {
    Tensor dx = Tensor::empty(v.shape(), v.dtype());
    const auto kernel = form == GeluForm::Erf ? kernels::gelu_erf_backward<T> : kernels::gelu_tanh_backward<T>;
    kernel(gradient.data<T>(), v.data<T>(), dx.mutable_data<T>(), v.numel());
    return dx;
  });
}

}  // namespace ringlet
