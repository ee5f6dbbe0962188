// Clipping by the global norm (Pascanu, Mikolov & Bengio, 2013): one coefficient for all gradients.
#pragma once

#include <span>

#include "optim/param_group.h"

namespace ringlet {

/// min(1, max_norm/norm); 1 when max_norm is 0 or negative (no clipping). Exact, without PyTorch's 1e-6 in the denominator: a
/// clipped gradient has norm max_norm to rounding, and a norm of 0 leaves zeros.
/// A norm that is NaN or infinite is an `Error`: the coefficient would be NaN, or wipe every gradient in silence. Such a step must
/// be skipped; ask `std::isfinite` first. So is a max_norm that is NaN.
double clip_coefficient(double norm, double max_norm);

/// √Σ g² over all gradients, squares and sums in f64: finite for any finite f32 gradients, whose squares may leave f32's range.
/// For one process; across ranks see dist.
double gradient_norm(std::span<const ParamSlice> slices);

/// g ← g·min(1, max_norm/√Σ g²), with the bits that the three above give one after the other, without anybody waiting for the norm: for
/// work that a device repeats (Gpu::record). So nobody looks at it either: where it is not finite, NaN and zeros come out.
/// max_norm ≤ 0: no clipping.
void clip_gradients(std::span<const ParamSlice> slices, double max_norm);

/// g ← g·coefficient, in place; 1 touches nothing.
void scale_gradients(std::span<const ParamSlice> slices, double coefficient);

}  // namespace ringlet
