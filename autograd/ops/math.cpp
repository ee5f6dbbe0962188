#include "autograd/ops/math.h"

#include <numbers>

#include "autograd/record.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/math.h"

namespace ringlet {
namespace {

// y = eˣ           dx = dy·y
struct ExpRule {
  static constexpr std::string_view kName = "exp";
  Saved y;
  Grads backward(const Tensor& dy) const { return {dy * y.get()}; }
};

// y = ln x         dx = dy/x
struct LogRule {
  static constexpr std::string_view kName = "log";
  Saved x;
  Grads backward(const Tensor& dy) const { return {dy / x.get()}; }
};

// y = √x           dx = dy/(2y)
struct SqrtRule {
  static constexpr std::string_view kName = "sqrt";
  Saved y;
  Grads backward(const Tensor& dy) const { return {dy * 0.5 / y.get()}; }
};

// y = 1/√x         dx = −dy·y³/2
struct RsqrtRule {
  static constexpr std::string_view kName = "rsqrt";
  Saved y;
  Grads backward(const Tensor& dy) const { return {dy * (square(y) * y.get() * -0.5)}; }
};

// y = x²           dx = 2x·dy
struct SquareRule {
  static constexpr std::string_view kName = "square";
  Saved x;
  Grads backward(const Tensor& dy) const { return {dy * x.get() * 2.0}; }
};

// y = tanh x       dx = dy·(1 − y²)
struct TanhRule {
  static constexpr std::string_view kName = "tanh";
  Saved y;
  Grads backward(const Tensor& dy) const { return {dy * (-square(y) + 1.0)}; }
};

// y = erf x        dx = dy·2/√π·exp(−x²)
struct ErfRule {
  static constexpr std::string_view kName = "erf";
  Saved x;
  Grads backward(const Tensor& dy) const { return {dy * (exp(-square(x)) * (2.0 * std::numbers::inv_sqrtpi))}; }
};

// y = 1/(1 + e⁻ˣ)  dx = dy·y·(1 − y)
struct SigmoidRule {
  static constexpr std::string_view kName = "sigmoid";
  Saved y;
  Grads backward(const Tensor& dy) const { return {dy * (y.get() * (-y.get() + 1.0))}; }
};

// y = max(x, 0)    dx = dy where x > 0, which is where y > 0; else 0
struct ReluRule {
  static constexpr std::string_view kName = "relu";
  Saved y;
  Grads backward(const Tensor& dy) const { return {dy * step(y)}; }
};

}  // namespace

Var exp(const Var& x) {
  const Tensor y = exp(x.data());
  return record(y, {x}, ExpRule{.y = y});
}

Var log(const Var& x) { return record(log(x.data()), {x}, LogRule{.x = x.data()}); }

Var sqrt(const Var& x) {
  const Tensor y = sqrt(x.data());
  return record(y, {x}, SqrtRule{.y = y});
}

Var rsqrt(const Var& x) {
  const Tensor y = rsqrt(x.data());
  return record(y, {x}, RsqrtRule{.y = y});
}

Var square(const Var& x) { return record(square(x.data()), {x}, SquareRule{.x = x.data()}); }

Var tanh(const Var& x) {
  const Tensor y = tanh(x.data());
  return record(y, {x}, TanhRule{.y = y});
}

Var erf(const Var& x) { return record(erf(x.data()), {x}, ErfRule{.x = x.data()}); }

Var sigmoid(const Var& x) {
  const Tensor y = sigmoid(x.data());
  return record(y, {x}, SigmoidRule{.y = y});
}

Var relu(const Var& x) {
  const Tensor y = relu(x.data());
  return record(y, {x}, ReluRule{.y = y});
}

}  // namespace ringlet
