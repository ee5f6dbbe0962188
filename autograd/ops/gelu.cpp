#include "autograd/ops/gelu.h"

#include "autograd/record.h"

namespace ringlet {
namespace {

// [snippet: rule]
// erf:   y = x·Φ(x)                 dx = dy·(Φ(x) + x·φ(x))
// tanh:  y = x·(1 + t)/2            dx = dy·(1 + t + x·(1 − t²)·u')/2          t = tanh(u),  u = √(2/π)·(x + 0.044715·x³)
struct GeluRule {
  static constexpr std::string_view kName = "gelu";
  Saved x;
  GeluForm form;

  Grads backward(const Tensor& dy) const { return {gelu_backward(dy, x, form)}; }
};
// [/snippet]

}  // namespace

Var gelu(const Var& x, GeluForm form) { return record(gelu(x.data(), form), {x}, GeluRule{.x = x.data(), .form = form}); }

}  // namespace ringlet
