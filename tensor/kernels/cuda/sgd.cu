#include "tensor/kernels/cuda/sgd.h"

#include "tensor/kernels/cuda/slice_list.cuh"

namespace ringlet::kernels::cuda {
namespace {

// d = g + λ·w;   b ← μ·b + (1 − τ)·d;   w ← w − η·b, with Nesterov w − η·(d + μ·b), without momentum w − η·d.
//
// 20 bytes per element of fp32, 12 without momentum. The scalars come by value, or from device memory where `at` is not null.
template <typename T>
__global__ void sgd_kernel(const SliceList<SgdSlice<T>> list, const SgdScalars<T> by_value, const SgdScalars<T>* at) {
  const SgdScalars<T> s = at == nullptr ? by_value : *at;
  for_each_element(list, [&](const SgdSlice<T>& slice, int64_t i) {
    const T w = slice.w[i], d = slice.g[i] + slice.decay * w;
    T direction = d;
    if (slice.b != nullptr) {
      const T b = s.momentum * slice.b[i] + s.arriving * d;
      slice.b[i] = b;
      direction = s.nesterov ? d + s.momentum * b : b;
    }
    slice.w[i] = w - s.lr * direction;
  });
}

}  // namespace

template <typename T>
void sgd(const SgdSlice<T>* slices, int64_t count, const SgdScalars<T>& scalars) {
  launch_on_slices(sgd_kernel<T>, slices, count, scalars, nullptr);
}

template <typename T>
void sgd_at(const SgdSlice<T>* slices, int64_t count, const SgdScalars<T>* scalars) {
  launch_on_slices(sgd_kernel<T>, slices, count, SgdScalars<T>{}, scalars);
}

template void sgd(const SgdSlice<float>*, int64_t, const SgdScalars<float>&);
template void sgd(const SgdSlice<double>*, int64_t, const SgdScalars<double>&);
template void sgd_at(const SgdSlice<float>*, int64_t, const SgdScalars<float>*);
template void sgd_at(const SgdSlice<double>*, int64_t, const SgdScalars<double>*);

}  // namespace ringlet::kernels::cuda
