#include "tensor/ops/reduce.h"

#include "tensor/ops/arithmetic.h"
#include "tensor/ops/dispatch.h"

namespace ringlet {
namespace {

// What the kernels take: contiguous, and never bf16.
Tensor operand(const Tensor& x) { return x.dtype() == DType::BF16 ? x.to(DType::F32) : x.contiguous(); }

// x as [outer, n, inner] around `dim`, and the shape in which `dim` has become 1.
struct Split {
  int64_t outer = 1, n = 1, inner = 1;
  Shape reduced;
};
Split split(const Shape& shape, int dim) {
  Split s{.n = shape[dim], .reduced = shape.with(dim, 1)};
  const int position = dim < 0 ? dim + shape.rank() : dim;
  for (int i = 0; i < shape.rank(); ++i) {
    (i < position ? s.outer : s.inner) *= i == position ? 1 : shape[i];
  }
  return s;
}

}  // namespace

Tensor sum(const Tensor& x) {
  const Tensor v = operand(x);
  return with_kernels("sum", v, [&]<typename T>(const kernels::Table<T>& kernel) {
    Tensor total = Tensor::empty(v.device(), {}, v.dtype());
    kernel.sum(v.data<T>(), total.mutable_data<T>(), 1, v.numel(), 1);
    return total;
  });
}

Tensor mean(const Tensor& x) {
  check(x.numel() > 0, "mean: there is no mean of no elements, shape {}", x.shape());
  Tensor total = sum(x);
  divide_into(total, static_cast<double>(x.numel()));
  return total;
}

Tensor sum(const Tensor& x, int dim) {
  const Tensor v = operand(x);
  return with_kernels("sum", v, [&]<typename T>(const kernels::Table<T>& kernel) {
    const Split s = split(v.shape(), dim);
    Tensor y = Tensor::empty(v.device(), s.reduced, v.dtype());
    kernel.sum(v.data<T>(), y.mutable_data<T>(), s.outer, s.n, s.inner);
    return y;
  });
}

Tensor mean(const Tensor& x, int dim) {
  check(x.dim(dim) > 0, "mean: there is no mean of no elements, dim {} of shape {}", dim, x.shape());
  Tensor y = sum(x, dim);
  divide_into(y, static_cast<double>(x.dim(dim)));
  return y;
}

Tensor max(const Tensor& x, int dim) {
  check(x.dim(dim) > 0, "max: there is no maximum of no elements, dim {} of shape {}", dim, x.shape());
  const Tensor v = operand(x);
  return with_kernels("max", v, [&]<typename T>(const kernels::Table<T>& kernel) {
    const Split s = split(v.shape(), dim);
    Tensor y = Tensor::empty(v.device(), s.reduced, v.dtype());
    kernel.max(v.data<T>(), y.mutable_data<T>(), s.outer, s.n, s.inner);
    return y;
  });
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) {
    return x;
  }
  check(broadcast_shapes("sum_to", shape, x.shape()) == x.shape(), "sum_to: {} does not broadcast to {}", shape, x.shape());
  Tensor y = x;
  if (const int extra = x.rank() - shape.rank(); extra > 0) {  // all dims in front at once: one order of additions for the rows
    Shape merged = Shape::filled(1 + shape.rank(), 1);
    for (int i = 0; i < x.rank(); ++i) {
      merged[i < extra ? 0 : i - extra + 1] *= x.dim(i);
    }
    y = sum(x.reshape(merged), 0).view(merged.without(0));
  }
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] != y.dim(i)) {
      y = sum(y, i);
    }
  }
  return y.dtype() == x.dtype() ? y : y.to(x.dtype());
}

double squared_norm(const Tensor& x) {
  const Tensor v = operand(x);
  Tensor norm = Tensor::empty(v.device(), {}, DType::F64);
  with_kernels("squared_norm", v, [&]<typename T>(const kernels::Table<T>& kernel) {
    kernel.squared_norm(v.data<T>(), v.numel(), norm.mutable_data<double>());
  });
  return norm.item();
}

bool all_finite(const Tensor& x) {
  const Tensor v = operand(x);
  Tensor finite = Tensor::empty(v.device(), {}, DType::I32);
  with_kernels("all_finite", v, [&]<typename T>(const kernels::Table<T>& kernel) {
    kernel.all_finite(v.data<T>(), v.numel(), finite.mutable_data<int32_t>());
  });
  return finite.item() != 0.0;
}

}  // namespace ringlet
