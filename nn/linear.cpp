#include "nn/linear.h"

#include "autograd/ops/cast.h"
#include "autograd/ops/linear.h"

namespace ringlet {

Linear::Linear(int64_t in, int64_t out, bool bias, DType dtype)
    : weight_(add_parameter("weight", Tensor::zeros({in, out}, dtype, Category::Parameters))),
      bias_(bias ? add_parameter("bias", Tensor::zeros({out}, dtype, Category::Parameters)) : Var()) {}

Var Linear::forward(const Var& x_in) {
  return hooked(x_in, [&](const Var& x) {
    return linear(x, cast(weight_, x.dtype()), bias_.defined() ? cast(bias_, x.dtype()) : bias_);
  });
}

}  // namespace ringlet
