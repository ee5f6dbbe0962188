#include "autograd/ops/cast.h"

#include "autograd/record.h"

namespace ringlet {
namespace {

// y = x in another dtype      dx = dy in the dtype of x
struct CastRule {
  static constexpr std::string_view kName = "cast";
  DType from;

  Grads backward(const Tensor& dy) const { return {dy.dtype() == from ? dy : dy.to(from)}; }
};

}  // namespace

Var cast(const Var& x, DType dtype) {
  check(is_floating(dtype), "cast: to f32, f64 or bf16, got {}; gradients exist for these only", dtype);
  if (x.dtype() == dtype) {
    return x;
  }
  return record(x.data().to(dtype), {x}, CastRule{.from = x.dtype()});
}

Var round_to_bf16(const Var& x) { return record(x.data().to(DType::BF16).to(x.dtype()), {x}, CastRule{.from = x.dtype()}); }

}  // namespace ringlet
