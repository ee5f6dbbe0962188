#include "autograd/ops/arithmetic.h"

#include "autograd/record.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/reduce.h"

namespace ringlet {
namespace {

// y = a + b      da = dy      db = dy          each summed over the dims along which its operand was stretched: sum_to
struct AddRule {
  static constexpr std::string_view kName = "add";
  Shape a_shape, b_shape;

  Grads backward(const Tensor& dy) const { return {sum_to(dy, a_shape), sum_to(dy, b_shape)}; }
};

// y = a − b      da = dy      db = −dy
struct SubtractRule {
  static constexpr std::string_view kName = "subtract";
  Shape a_shape, b_shape;
  bool b_wanted;

  Grads backward(const Tensor& dy) const { return {sum_to(dy, a_shape), b_wanted ? -sum_to(dy, b_shape) : Tensor()}; }
};

// [snippet: multiply]
// y = a·b        da = dy·b    db = dy·a
struct MultiplyRule {
  static constexpr std::string_view kName = "multiply";
  Shape a_shape, b_shape;
  Saved a, b;  // each only if the other's gradient is wanted

  Grads backward(const Tensor& dy) const {
    return {b.defined() ? sum_to(dy * b.get(), a_shape) : Tensor(), a.defined() ? sum_to(dy * a.get(), b_shape) : Tensor()};
  }
};
// [/snippet]

// y = a / b      da = dy/b    db = −dy·y/b
struct DivideRule {
  static constexpr std::string_view kName = "divide";
  Shape a_shape;
  Saved b, y;  // y only if db is wanted

  Grads backward(const Tensor& dy) const {
    const Tensor da = dy / b.get();
    return {sum_to(da, a_shape), y.defined() ? -sum_to(da * y.get(), b.get().shape()) : Tensor()};
  }
};

// y = −x         dx = −dy
struct NegateRule {
  static constexpr std::string_view kName = "negate";

  Grads backward(const Tensor& dy) const { return {-dy}; }
};

// y = x + c      dx = dy
struct ShiftRule {
  static constexpr std::string_view kName = "shift";

  Grads backward(const Tensor& dy) const { return {dy}; }
};

// y = c·x        dx = c·dy
struct ScaleRule {
  static constexpr std::string_view kName = "scale";
  double c;

  Grads backward(const Tensor& dy) const { return {dy * c}; }
};

Var scalar(double c, DType dtype) { return Var(Tensor::full({}, c, dtype)); }

}  // namespace

Var operator+(const Var& a, const Var& b) {
  return record(a.data() + b.data(), {a, b}, AddRule{.a_shape = a.shape(), .b_shape = b.shape()});
}

Var operator-(const Var& a, const Var& b) {
  return record(a.data() - b.data(), {a, b},
                SubtractRule{.a_shape = a.shape(), .b_shape = b.shape(), .b_wanted = b.requires_grad()});
}

Var operator*(const Var& a, const Var& b) {
  return record(
      a.data() * b.data(), {a, b},
      MultiplyRule{.a_shape = a.shape(), .b_shape = b.shape(), .a = saved_for(b, a.data()), .b = saved_for(a, b.data())});
}

Var operator/(const Var& a, const Var& b) {
  const Tensor y = a.data() / b.data();
  return record(y, {a, b}, DivideRule{.a_shape = a.shape(), .b = b.data(), .y = saved_for(b, y)});
}

Var operator-(const Var& x) { return record(-x.data(), {x}, NegateRule{}); }

Var operator+(const Var& x, double c) { return record(x.data() + c, {x}, ShiftRule{}); }
Var operator-(const Var& x, double c) { return x + (-c); }
Var operator*(const Var& x, double c) { return record(x.data() * c, {x}, ScaleRule{.c = c}); }
Var operator/(const Var& x, double c) { return x / scalar(c, x.dtype()); }
Var operator+(double c, const Var& x) { return x + c; }
Var operator-(double c, const Var& x) { return -x + c; }
Var operator*(double c, const Var& x) { return x * c; }
Var operator/(double c, const Var& x) { return scalar(c, x.dtype()) / x; }

}  // namespace ringlet
