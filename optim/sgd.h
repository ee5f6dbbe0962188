#pragma once

#include "optim/optimizer.h"
#include "tensor/kernels/cpu/sgd.h"

namespace ringlet {

struct SgdConfig {
  double momentum = 0.0;   // μ, in [0, 1)
  double dampening = 0.0;  // τ, in [0, 1]; not applied to the first gradient
  bool nesterov = false;   // needs μ > 0 and τ = 0
};

/// Stochastic gradient descent, with momentum as Sutskever et al. (2013) and PyTorch write it. λ: the group's weight decay.
///   d = g + λ·w;   b ← μ·b + (1 − τ)·d  (b = d at the first update);   w ← w − η·b,  with Nesterov w ← w − η·(d + μ·b)
/// Without momentum there is no state: w ← w − η·d. Cost: one pass over w, g and b.
class Sgd : public Optimizer {
 public:
  Sgd(std::vector<ParamGroup> groups, std::vector<ParamSlice> slices, const SgdConfig& config = {});
  void step(double lr) override;
  void prepare(double lr) override;
  void queue_update() override;

 private:
  template <typename T>
  std::vector<kernels::SgdSlice<T>> pieces();
  template <typename T>
  kernels::SgdScalars<T> scalars(double lr) const;

  SgdConfig config_;
};

}  // namespace ringlet
