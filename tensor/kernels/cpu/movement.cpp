#include "tensor/kernels/cpu/movement.h"

#include <algorithm>

#include "tensor/kernels/cpu/copy.h"

namespace ringlet::kernels {

void copy_strided(DType to_dtype, void* to, const Shape& to_strides, DType from_dtype, const void* from,
                  const Shape& from_strides, const Shape& shape) {
  dispatch_all(to_dtype, [&]<typename To>() {
    dispatch_all(from_dtype, [&]<typename From>() {
      copy_rows(static_cast<To*>(to), to_strides, static_cast<const From*>(from), from_strides, shape);
    });
  });
}

void fill(DType dtype, void* to, const Shape& shape, const Shape& strides, double value) {
  dispatch_all(dtype, [&]<typename T>() {
    T* out = static_cast<T*>(to);
    if (strides == shape.contiguous_strides()) {
      std::fill_n(out, shape.numel(), static_cast<T>(value));
    } else {
      fill_strided(out, shape, strides, static_cast<T>(value));
    }
  });
}

template <typename T>
void masked_fill(T* x, const uint8_t* mask, const Shape& mask_strides, const Shape& shape, T value) {
  for_each_row(shape, shape.contiguous_strides(), mask_strides,
               [&](int64_t a, int64_t b, int64_t length, int64_t, int64_t step) {
                 for (int64_t i = 0; i < length; ++i) {
                   x[a + i] = mask[b + i * step] != 0 ? value : x[a + i];
                 }
               });
}

template void masked_fill(float*, const uint8_t*, const Shape&, const Shape&, float);
template void masked_fill(double*, const uint8_t*, const Shape&, const Shape&, double);

}  // namespace ringlet::kernels
