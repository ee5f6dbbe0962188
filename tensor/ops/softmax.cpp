#include "tensor/ops/softmax.h"

#include "tensor/ops/dispatch.h"

namespace ringlet {

Tensor softmax(const Tensor& x) {
  const Tensor v = x.contiguous();
  return with_kernels("softmax", v, [&]<typename T>(const kernels::Table<T>& kernel) {
    Tensor p = Tensor::empty(v.device(), v.shape(), v.dtype());
    kernel.softmax(v.data<T>(), p.mutable_data<T>(), v.shape().rows(), v.dim(-1));
    return p;
  });
}

Tensor softmax_backward(const Tensor& p, const Tensor& dp) {
  check_shape("softmax_backward: dp", dp, p.shape());
  check_dtype("softmax_backward: dp", dp, p.dtype());
  const Tensor probabilities = p.contiguous(), gradient = dp.contiguous();
  check_same_device("softmax_backward", p, {&dp});
  return with_kernels("softmax_backward", p, [&]<typename T>(const kernels::Table<T>& kernel) {
    Tensor dx = Tensor::empty(p.device(), p.shape(), p.dtype());
    kernel.softmax_backward(probabilities.data<T>(), gradient.data<T>(), dx.mutable_data<T>(), p.shape().rows(), p.dim(-1));
    return dx;
  });
}

}  // namespace ringlet
