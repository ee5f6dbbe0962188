// The update of SGD over many pieces of parameters (optim/sgd.h has the formula).
#pragma once

#include <cstdint>

namespace ringlet::kernels {

/// One piece of a parameter: n weights, their gradients and the momentum buffer, null without momentum.
template <typename T>
struct SgdSlice {
  T* w;
  const T* g;
  T* b;
  int64_t n;
  T decay;  // λ
};

/// What is the same for all elements of a step.
template <typename T>
struct SgdScalars {
  T lr, momentum, arriving;  // η  μ  1 − τ
  bool nesterov;
};

/// d = g + λ·w;   b ← μ·b + (1 − τ)·d;   w ← w − η·b, with Nesterov w − η·(d + μ·b), without momentum w − η·d.
/// The list of slices lies in host memory on every device.
template <typename T>
void sgd(const SgdSlice<T>* slices, int64_t count, const SgdScalars<T>& scalars);

/// The same with scalars in the memory of the device, as in adamw.h.
template <typename T>
void sgd_at(const SgdSlice<T>* slices, int64_t count, const SgdScalars<T>* scalars);

}  // namespace ringlet::kernels
