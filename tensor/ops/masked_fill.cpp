#include "tensor/ops/masked_fill.h"

#include "tensor/ops/dispatch.h"

namespace ringlet {

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  check_dtype("masked_fill: mask", mask, DType::U8);
  check_same_device("masked_fill", x, {&mask});
  const Tensor m = mask.expand(x.shape());
  Tensor y = x.clone();
  with_kernels("masked_fill", x, [&]<typename T>(const kernels::Table<T>& kernel) {
    if (y.numel() > 0) {
      kernel.masked_fill(y.mutable_data<T>(), m.data<uint8_t>(), m.strides(), y.shape(), static_cast<T>(value));
    }
  });
  return y;
}

}  // namespace ringlet
