#include "optim/clip.h"

#include <cmath>

#include "tensor/ops/arithmetic.h"
#include "tensor/ops/dispatch.h"
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

void clip_gradients(std::span<const ParamSlice> slices, double max_norm) {
  if (slices.empty() || max_norm <= 0.0) {
    return;
  }
  const Device device = slices.front().grad.device();
  const auto n = static_cast<int64_t>(slices.size());
  Tensor squares = Tensor::empty(device, {n}, DType::F64), coefficient = Tensor::empty(device, {}, DType::F64);
  double* square = squares.mutable_data<double>();
  for (const ParamSlice& slice : slices) {
    with_kernels("clip_gradients", slice.grad, [&]<typename T>(const kernels::Table<T>& kernel) {
      kernel.squared_norm(slice.grad.data<T>(), slice.grad.numel(), square++);
    });
  }
  kernels::tables_on(device.kind).clip_coefficient(squares.data<double>(), n, max_norm, coefficient.mutable_data<double>());
  const Tensor factor = coefficient.to(slices.front().grad.dtype());
  for (const ParamSlice& slice : slices) {
    Tensor grad = slice.grad;
    multiply_into(grad, factor);
  }
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
