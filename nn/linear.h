#pragma once

#include "nn/module.h"

namespace ringlet {

/// y = x·W + b.    x: [..., in]   W: [in, out]   b: [out]   y: [..., out]
/// In the dtype of x, to which W and b are rounded where they are wider.
/// W is stored [in, out], as GPT-2's weights are, so the product reads it in its own order. Made of zeros: see nn/init.h.
class Linear : public Module {
 public:
  Linear(int64_t in, int64_t out, bool bias, DType dtype = DType::F32);
  Var forward(const Var& x);
  const Var& weight() const { return weight_; }
  const Var& bias() const { return bias_; }  // undefined without bias

 private:
  Var weight_;
  Var bias_;
};

}  // namespace ringlet
