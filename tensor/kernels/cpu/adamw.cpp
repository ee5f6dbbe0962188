#include "tensor/kernels/cpu/adamw.h"

#include <cmath>

namespace ringlet::kernels {
namespace {

// Only + · / √, which are correctly rounded: the vector body and the scalar tail of the loop give the same bits, and so does a GPU.
template <typename T>
void update(T* w, const T* g, T* m, T* v, int64_t n, T keep, const AdamWScalars<T>& s) {
  for (int64_t i = 0; i < n; ++i) {
    m[i] = s.beta1 * m[i] + s.rest1 * g[i];
    v[i] = s.beta2 * v[i] + s.rest2 * (g[i] * g[i]);
    w[i] = keep * w[i] - s.step * (m[i] / (std::sqrt(v[i]) + s.eps));
  }
}

}  // namespace

template <typename T>
void adamw(const AdamWSlice<T>* slices, int64_t count, const AdamWScalars<T>& scalars) {
  for (const AdamWSlice<T>* s = slices; s != slices + count; ++s) {
    update(s->w, s->g, s->m, s->v, s->n, static_cast<T>(1.0 - scalars.lr * s->decay), scalars);
  }
}

template <typename T>
void adamw_at(const AdamWSlice<T>* slices, int64_t count, const AdamWScalars<T>* scalars) {
  adamw(slices, count, *scalars);
}

template void adamw(const AdamWSlice<float>*, int64_t, const AdamWScalars<float>&);
template void adamw(const AdamWSlice<double>*, int64_t, const AdamWScalars<double>&);
template void adamw_at(const AdamWSlice<float>*, int64_t, const AdamWScalars<float>*);
template void adamw_at(const AdamWSlice<double>*, int64_t, const AdamWScalars<double>*);

}  // namespace ringlet::kernels
