#include "autograd/ops/linear.h"

#include "autograd/record.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/reduce.h"

namespace ringlet {
namespace {

// [..., K] as [M, K]: a row is a row, whatever the dims before it.
Tensor rows_of(const Tensor& x) { return x.reshape({x.shape().without(-1).numel(), x.dim(-1)}); }

Tensor transposed(const Tensor& x) { return x.transpose(-2, -1); }

// y = x·W + b      dx = dy·Wᵀ      dW = xᵀ·dy      db = Σ_M dy          x: [M, K]   W: [K, N]   b: [N]   y: [M, N]
struct LinearRule {
  static constexpr std::string_view kName = "linear";
  Shape x_shape;
  Saved x, W;  // x only if dW is wanted, W only if dx is
  bool biased;

  Grads backward(const Tensor& dy) const {
    const Tensor d = rows_of(dy);
    return {W.defined() ? matmul(d, transposed(W)).view(x_shape) : Tensor(), x.defined() ? matmul(transposed(x), d) : Tensor(),
            biased ? sum_to(d, {d.dim(1)}) : Tensor()};
  }
};

// y = x·Wᵀ         dx = dy·W       dW = dyᵀ·x                           x: [M, K]   W: [N, K]   y: [M, N]
struct LinearTransposedRule {
  static constexpr std::string_view kName = "linear_transposed";
  Shape x_shape;
  Saved x, W;

  Grads backward(const Tensor& dy) const {
    const Tensor d = rows_of(dy);
    return {W.defined() ? matmul(d, W).view(x_shape) : Tensor(), x.defined() ? matmul(transposed(d), x) : Tensor()};
  }
};

}  // namespace

Var linear(const Var& x, const Var& weight, const Var& bias) {
  check(x.rank() >= 1 && weight.rank() == 2 && x.dim(-1) == weight.dim(0),
        "linear: x must be [..., K] and the weight [K, N], got {} and {}", x.shape(), weight.shape());
  const Tensor rows = rows_of(x.data());
  const Tensor y = bias.defined() ? linear(rows, weight.data(), bias.data()) : matmul(rows, weight.data());
  return record(y.view(x.shape().with(-1, weight.dim(1))), {x, weight, bias},
                LinearRule{.x_shape = x.shape(),
                           .x = saved_for(weight, rows),
                           .W = saved_for(x, weight.data()),
                           .biased = bias.requires_grad()});
}

Var linear_transposed(const Var& x, const Var& weight) {
  check(x.rank() >= 1 && weight.rank() == 2 && x.dim(-1) == weight.dim(1),
        "linear_transposed: x must be [..., K] and the weight [N, K], got {} and {}", x.shape(), weight.shape());
  const Tensor rows = rows_of(x.data());
  const Tensor y = matmul(rows, transposed(weight.data()));
  return record(y.view(x.shape().with(-1, weight.dim(0))), {x, weight},
                LinearTransposedRule{.x_shape = x.shape(), .x = saved_for(weight, rows), .W = saved_for(x, weight.data())});
}

}  // namespace ringlet
