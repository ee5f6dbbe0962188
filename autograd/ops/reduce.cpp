#include "autograd/ops/reduce.h"

#include "autograd/record.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/reduce.h"

namespace ringlet {
namespace {

// y = Σ x          dx = dy, stretched to the shape of x
struct SumRule {
  static constexpr std::string_view kName = "sum";
  Shape x_shape;

  Grads backward(const Tensor& dy) const { return {dy.expand(x_shape)}; }
};

// y = Σ x / n      dx = dy/n, stretched
struct MeanRule {
  static constexpr std::string_view kName = "mean";
  Shape x_shape;
  int64_t n;

  Grads backward(const Tensor& dy) const {
    Tensor share = dy.clone();
    divide_into(share, static_cast<double>(n));
    return {share.expand(x_shape)};
  }
};

}  // namespace

Var sum(const Var& x) { return record(sum(x.data()), {x}, SumRule{.x_shape = x.shape()}); }
Var sum(const Var& x, int dim) { return record(sum(x.data(), dim), {x}, SumRule{.x_shape = x.shape()}); }
Var mean(const Var& x) { return record(mean(x.data()), {x}, MeanRule{.x_shape = x.shape(), .n = x.numel()}); }
Var mean(const Var& x, int dim) { return record(mean(x.data(), dim), {x}, MeanRule{.x_shape = x.shape(), .n = x.dim(dim)}); }

}  // namespace ringlet
