#include "tensor/ops/softmax.h"

#include "tensor/kernels/cpu/softmax.h"

namespace ringlet {

Tensor softmax(const Tensor& x) {
  const Tensor v = x.contiguous();
  return dispatch_real("softmax", v.dtype(), [&]<typename T>() {
    Tensor p = Tensor::empty(v.shape(), v.dtype());
    kernels::softmax(v.data<T>(), p.mutable_data<T>(), v.shape().rows(), v.dim(-1));
    return p;
  });
}

Tensor softmax_backward(const Tensor& p, const Tensor& dp) {
  check_shape("softmax_backward: dp", dp, p.shape());
  check_dtype("softmax_backward: dp", dp, p.dtype());
  const Tensor probabilities = p.contiguous(), gradient = dp.contiguous();
  return dispatch_real("softmax_backward", p.dtype(), [&]<typename T>() {
    Tensor dx = Tensor::empty(p.shape(), p.dtype());
    kernels::softmax_backward(probabilities.data<T>(), gradient.data<T>(), dx.mutable_data<T>(), p.shape().rows(), p.dim(-1));
    return dx;
  });
}

}  // namespace ringlet
