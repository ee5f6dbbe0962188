// The update of AdamW over many pieces of parameters (optim/adamw.h has the formula).
#pragma once

#include <cstdint>

namespace ringlet::kernels {

/// One piece of a parameter: n weights, their gradients and both moments.
template <typename T>
struct AdamWSlice {
  T* w;
  const T* g;
  T *m, *v;
  int64_t n;
  double decay;  // λ
};

/// What is the same for all elements of a step. With r = √(1 − β₂ᵗ) multiplied through, one division per element is left
/// (Kingma & Ba, section 2):   η/(1 − β₁ᵗ) · m/(√v/r + ε)  =  η·r/(1 − β₁ᵗ) · m/(√v + ε·r)
template <typename T>
struct AdamWScalars {
  double lr;                     // η
  T beta1, beta2, rest1, rest2;  // β₁  β₂  1 − β₁  1 − β₂
  T step, eps;                   // η·r/(1 − β₁ᵗ)  ε·r
};

/// m ← β₁·m + (1 − β₁)·g;   v ← β₂·v + (1 − β₂)·g²;   w ← (1 − η·λ)·w − step·m/(√v + eps), the factor of w rounded once to T.
/// The list of slices lies in host memory on every device.
template <typename T>
void adamw(const AdamWSlice<T>* slices, int64_t count, const AdamWScalars<T>& scalars);

/// The same with scalars in the memory of the device, read when the kernel runs: work that was recorded once can be repeated with
/// those of another step.
template <typename T>
void adamw_at(const AdamWSlice<T>* slices, int64_t count, const AdamWScalars<T>* scalars);

}  // namespace ringlet::kernels
