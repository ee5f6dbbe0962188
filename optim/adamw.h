#pragma once

#include "optim/optimizer.h"
#include "tensor/kernels/cpu/adamw.h"

namespace ringlet {

struct AdamWConfig {
  double beta1 = 0.9;    // in [0, 1)
  double beta2 = 0.999;  // in [0, 1)
  double eps = 1e-8;     // positive; outside the root

  /// Throws `Error` unless eps stays positive in an update of `dtype`.
  void check_eps(DType dtype) const;
};

/// Adam (Kingma & Ba, 2015) with decoupled weight decay (Loshchilov & Hutter, 2019). t = updates() + 1; λ: the group's decay.
///   w ← w·(1 − η·λ);   m ← β₁·m + (1 − β₁)·g;   v ← β₂·v + (1 − β₂)·g²
///   w ← w − η/(1 − β₁ᵗ) · m / (√v/√(1 − β₂ᵗ) + ε)
/// Numbers that are the same for all elements are computed in f64 and rounded once to the dtype of the slices.
/// Cost: one pass over w, g, m and v: 7 numbers moved per element.
class AdamW : public Optimizer {
 public:
  AdamW(std::vector<ParamGroup> groups, std::vector<ParamSlice> slices, const AdamWConfig& config = {});
  void step(double lr) override;
  void prepare(double lr) override;
  void queue_update() override;

 private:
  template <typename T>
  std::vector<kernels::AdamWSlice<T>> pieces();

  AdamWConfig config_;
};

}  // namespace ringlet
