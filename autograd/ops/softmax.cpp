#include "autograd/ops/softmax.h"

#include "autograd/record.h"
#include "tensor/ops/softmax.h"

namespace ringlet {
namespace {

// p = eˣ/Σ eˣ      dx = p·(dp − Σ dp·p)          sums over the last dim
struct SoftmaxRule {
  static constexpr std::string_view kName = "softmax";
  Saved p;

  Grads backward(const Tensor& dp) const { return {softmax_backward(p, dp)}; }
};

}  // namespace

Var softmax(const Var& x) {
  const Tensor p = softmax(x.data());
  return record(p, {x}, SoftmaxRule{.p = p});
}

}  // namespace ringlet
