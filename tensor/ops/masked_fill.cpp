#include "tensor/ops/masked_fill.h"

#include "tensor/kernels/cpu/copy.h"

namespace ringlet {

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  check_dtype("masked_fill: mask", mask, DType::U8);
  const Tensor m = mask.expand(x.shape());
  Tensor y = x.clone();
  dispatch_real("masked_fill", x.dtype(), [&]<typename T>() {
    T* out = y.mutable_data<T>();
    const uint8_t* masked = m.data<uint8_t>();
    const T fill = static_cast<T>(value);
    kernels::for_each_row(y.shape(), y.strides(), m.strides(),
                          [&](int64_t a, int64_t b, int64_t length, int64_t, int64_t step) {
                            for (int64_t i = 0; i < length; ++i) {
                              out[a + i] = masked[b + i * step] != 0 ? fill : out[a + i];
                            }
                          });
  });
  return y;
}

}  // namespace ringlet
