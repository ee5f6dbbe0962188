#pragma once

#include "nn/module.h"

namespace ringlet {

/// y = x̂·γ + β over the last dim, x̂ = (x − μ)/√(σ² + ε)  (Ba, Kiros & Hinton, 2016).    x, y: [..., C]   γ, β: [C]
/// γ starts at 1 and β at 0; β does not exist without bias. γ is named "weight" and β "bias", as everywhere in the field.
class LayerNorm : public Module {
 public:
  LayerNorm(int64_t embed_dim, bool bias, double eps, DType dtype = DType::F32);
  Var forward(const Var& x);

 private:
  Var gamma_;
  Var beta_;
  double eps_;
};

}  // namespace ringlet
