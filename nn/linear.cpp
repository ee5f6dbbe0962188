#include "nn/linear.h"

#include "autograd/ops/cast.h"
#include "autograd/ops/linear.h"

namespace ringlet {

Linear::Linear(int64_t in, int64_t out, bool bias, DType dtype)
    : weight_(add_parameter("weight", {in, out}, dtype)), bias_(bias ? add_parameter("bias", {out}, dtype) : Var()) {}

Var Linear::forward(const Var& x_in) {
  return hooked(x_in, [&](const Var& x) {
    return linear(x, cast(weight_, x.dtype()), bias_.defined() ? cast(bias_, x.dtype()) : bias_);
  });
}

}  // namespace ringlet
