#include "tensor/ops/layer_norm.h"

#include <cmath>

#include "tensor/ops/dispatch.h"

namespace ringlet {
namespace {

void check_vector(std::string_view who, const Tensor& vector, const Tensor& x) {
  check_shape(who, vector, {x.dim(-1)});
  check_dtype(who, vector, x.dtype());
}

}  // namespace

LayerNormed layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps) {
  check_vector("layer_norm: gamma", gamma, x);
  if (beta.defined()) {
    check_vector("layer_norm: beta", beta, x);
  }
  const Tensor v = x.contiguous(), scale = gamma.contiguous(), shift = beta.defined() ? beta.contiguous() : beta;
  check_same_device("layer_norm", x, {&gamma, &beta});
  const double rounded =
      x.dtype() == DType::F64 ? eps : static_cast<double>(static_cast<float>(eps));  // a constant row is divided by its root
  check(std::isfinite(rounded) && rounded > 0.0, "layer_norm: eps must be positive and finite, rounded for {} too, got {}",
        x.dtype(), eps);
  return with_kernels("layer_norm", x, [&]<typename T>(const kernels::Table<T>& kernel) {
    using Sum = Accumulator<T>;
    const int64_t rows = x.shape().rows();
    LayerNormed out{Tensor::empty(x.device(), x.shape(), x.dtype()), Tensor::empty(x.device(), {rows}, dtype_of<Sum>),
                    Tensor::empty(x.device(), {rows}, dtype_of<Sum>)};
    kernel.layer_norm(v.data<T>(), scale.data<T>(), shift.defined() ? shift.data<T>() : nullptr, eps, out.y.mutable_data<T>(),
                      out.mean.mutable_data<Sum>(), out.rstd.mutable_data<Sum>(), rows, x.dim(-1));
    return out;
  });
}

LayerNormGrads layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gamma, const Tensor& mean,
                                   const Tensor& rstd) {
  const int64_t rows = x.shape().rows(), C = x.dim(-1);
  check_shape("layer_norm_backward: dy", dy, x.shape());
  check_vector("layer_norm_backward: gamma", gamma, x);
  check_shape("layer_norm_backward: mean", mean, {rows});
  check_shape("layer_norm_backward: rstd", rstd, {rows});
  const Tensor d = dy.contiguous(), v = x.contiguous(), scale = gamma.contiguous();
  check_same_device("layer_norm_backward", x, {&dy, &gamma, &mean, &rstd});
  return with_kernels("layer_norm_backward", x, [&]<typename T>(const kernels::Table<T>& kernel) {
    LayerNormGrads grads{Tensor::empty(x.device(), x.shape(), x.dtype()), Tensor::empty(x.device(), {C}, x.dtype()),
                         Tensor::empty(x.device(), {C}, x.dtype())};
    const auto *mu = mean.data<Accumulator<T>>(), *rho = rstd.data<Accumulator<T>>();
    kernel.layer_norm_backward(d.data<T>(), v.data<T>(), scale.data<T>(), mu, rho, grads.dx.mutable_data<T>(), rows, C);
    kernel.layer_norm_backward_weights(d.data<T>(), v.data<T>(), mu, rho, grads.dgamma.mutable_data<T>(),
                                       grads.dbeta.mutable_data<T>(), rows, C);
    return grads;
  });
}

}  // namespace ringlet
