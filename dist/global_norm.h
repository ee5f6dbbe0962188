// Norms that do not see shards. The square of an fp32 is a whole number of 48 bits times a power of two; sums of whole numbers
// do not depend on their order. So the sum of squares is kept exactly, in limbs of 32 bits, and rounded once at the end: the
// same bits for any sharding, whatever the magnitudes (2^25 entries of 1e-4 or one of 1e30 among zeros).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "collectives/communicator.h"
#include "tensor/kernels/cpu/square_sum.h"
#include "tensor/tensor.h"

namespace ringlet {

/// Σ x² of f32 and bf16 tensors, exactly; of f64 tensors to a relative error of 2⁻⁵²·(log2 n + number of shards), since a
/// square of an f64 needs 106 bits. About 0.5 ns per element of f32.
class SquareSum {
 public:
  static constexpr int kLimbs = kernels::kSquareLimbs;
  /// limbs, infinities, NaNs, Σ of the f64 part.
  static constexpr int kWords = kLimbs + 3;

  /// Contiguous; another dtype is an `Error`. On a device the sum stays there, so that adding never waits for it.
  void add(const Tensor& x);

  /// As doubles whose element-wise sum over up to 2^20 ranks is exact: whole numbers below 2^53. They can travel with others.
  std::array<double, kWords> words() const;
  static SquareSum from_words(std::span<const double, kWords> words);

  /// √Σ; NaN or infinite when an element is.
  double norm() const;

 private:
  void carry();
  kernels::SquareLimbs* limbs_on(Device device);
  SquareSum fetched() const;

  kernels::SquareLimbs exact_{};
  Tensor on_device_;  // a SquareLimbs
  double wide_ = 0.0;
};

/// √Σ over all elements of all tensors of this process.
double global_norm(std::span<const Tensor> tensors);
/// The same over all ranks, which all call it, each bringing other elements: shards. One all_reduce.
double global_norm(Communicator& comm, std::span<const Tensor> shards);

}  // namespace ringlet
