#include "tensor/kernels/cpu/sgd.h"

namespace ringlet::kernels {
namespace {

template <typename T>
void update_plain(T* w, const T* g, int64_t n, T decay, const SgdScalars<T>& s) {
  for (int64_t i = 0; i < n; ++i) {
    w[i] -= s.lr * (g[i] + decay * w[i]);
  }
}

template <typename T>
void update_momentum(T* w, const T* g, T* b, int64_t n, T decay, const SgdScalars<T>& s) {
  for (int64_t i = 0; i < n; ++i) {
    const T d = g[i] + decay * w[i];
    b[i] = s.momentum * b[i] + s.arriving * d;
    w[i] -= s.lr * (s.nesterov ? d + s.momentum * b[i] : b[i]);
  }
}

}  // namespace

template <typename T>
void sgd(const SgdSlice<T>* slices, int64_t count, const SgdScalars<T>& scalars) {
  for (const SgdSlice<T>* s = slices; s != slices + count; ++s) {
    if (s->b == nullptr) {
      update_plain(s->w, s->g, s->n, s->decay, scalars);
    } else {
      update_momentum(s->w, s->g, s->b, s->n, s->decay, scalars);
    }
  }
}

template <typename T>
void sgd_at(const SgdSlice<T>* slices, int64_t count, const SgdScalars<T>* scalars) {
  sgd(slices, count, *scalars);
}

template void sgd(const SgdSlice<float>*, int64_t, const SgdScalars<float>&);
template void sgd(const SgdSlice<double>*, int64_t, const SgdScalars<double>&);
template void sgd_at(const SgdSlice<float>*, int64_t, const SgdScalars<float>*);
template void sgd_at(const SgdSlice<double>*, int64_t, const SgdScalars<double>*);

}  // namespace ringlet::kernels
