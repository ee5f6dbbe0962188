#include "optim/clip.h"

#include <cmath>

#include "tensor/ops/arithmetic.h"
#include "tensor/ops/reduce.h"

namespace ringlet {

double clip_coefficient(double norm, double max_norm) {
  check(std::isfinite(norm) && norm >= 0.0,
        "clip_coefficient: the gradient norm must be finite, got {}; skip this step, a coefficient cannot save it", norm);
  check(!std::isnan(max_norm), "clip_coefficient: the largest norm must be a number, or 0 for any, got {}", max_norm);
  return max_norm <= 0.0 || norm <= max_norm ? 1.0 : max_norm / norm;
}

double gradient_norm(std::span<const ParamSlice> slices) {
  double squares = 0.0;
  for (const ParamSlice& slice : slices) {
    squares += squared_norm(slice.grad);
  }
  return std::sqrt(squares);
}

void scale_gradients(std::span<const ParamSlice> slices, double coefficient) {
  if (coefficient == 1.0) {
    return;
  }
  for (const ParamSlice& slice : slices) {
    Tensor grad = slice.grad;
    scale_into(grad, coefficient);
  }
}

}  // namespace ringlet
