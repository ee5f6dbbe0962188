#include "tensor/ops/dropout.h"

#include "tensor/ops/dispatch.h"

namespace ringlet {

Tensor dropout(const Tensor& x, double p, const RandomStream& stream, uint64_t first) {
  check(p >= 0.0 && p < 1.0, "dropout: the probability must be at least 0 and below 1, got {}", p);
  if (p == 0.0) {
    return x.clone();
  }
  const Tensor v = x.contiguous();
  return with_kernels("dropout", v, [&]<typename T>(const kernels::Table<T>& kernel) {
    Tensor y = Tensor::empty(v.device(), v.shape(), v.dtype());
    kernel.dropout(v.data<T>(), y.mutable_data<T>(), v.numel(), p, stream, first);
    return y;
  });
}

}  // namespace ringlet
