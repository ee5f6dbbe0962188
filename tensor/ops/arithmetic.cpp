#include "tensor/ops/arithmetic.h"

#include "tensor/kernels/cpu/arithmetic.h"
#include "tensor/kernels/cpu/elementwise.h"

namespace ringlet {
namespace {

using kernels::Arithmetic;

Tensor broadcast(std::string_view who, Arithmetic op, const Tensor& a, const Tensor& b) {
  check(a.dtype() == b.dtype(), "{}: dtypes differ, {} and {}", who, a.dtype(), b.dtype());
  return dispatch_real(who, a.dtype(), [&]<typename T>() {
    const Shape shape = a.shape() == b.shape() ? a.shape() : broadcast_shapes(who, a.shape(), b.shape());
    Tensor y = Tensor::empty(shape, a.dtype());
    const kernels::Runs runs = kernels::merge_runs(shape, y.strides(), broadcast_strides(a.shape(), a.strides(), shape),
                                                   broadcast_strides(b.shape(), b.strides(), shape));
    kernels::arithmetic(op, runs, y.mutable_data<T>(), a.data<T>(), b.data<T>());
    return y;
  });
}

Tensor with_number(std::string_view who, Arithmetic op, const Tensor& x, double c) {
  return dispatch_real(who, x.dtype(), [&]<typename T>() {
    Tensor y = Tensor::empty(x.shape(), x.dtype());
    const kernels::Runs runs = kernels::merge_runs(x.shape(), y.strides(), x.strides(), Shape::filled(x.rank(), 0));
    const T number = static_cast<T>(c);
    kernels::arithmetic(op, runs, y.mutable_data<T>(), x.data<T>(), &number);
    return y;
  });
}

void number_into(std::string_view who, Arithmetic op, Tensor& x, double c) {
  dispatch_real(who, x.dtype(), [&]<typename T>() {
    const kernels::Runs runs = kernels::merge_runs(x.shape(), x.strides(), x.strides(), Shape::filled(x.rank(), 0));
    const T number = static_cast<T>(c);
    kernels::arithmetic_into(op, runs, x.mutable_data<T>(), &number);
  });
}

}  // namespace

Tensor operator+(const Tensor& a, const Tensor& b) { return broadcast("add", Arithmetic::Add, a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return broadcast("subtract", Arithmetic::Subtract, a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return broadcast("multiply", Arithmetic::Multiply, a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return broadcast("divide", Arithmetic::Divide, a, b); }

Tensor operator+(const Tensor& x, double c) { return with_number("add", Arithmetic::Add, x, c); }
Tensor operator*(const Tensor& x, double c) { return with_number("multiply", Arithmetic::Multiply, x, c); }

Tensor operator-(const Tensor& x) {
  return dispatch_real("negate", x.dtype(), [&]<typename T>() {
    Tensor y = Tensor::empty(x.shape(), x.dtype());
    kernels::elementwise(kernels::Function::Negate, kernels::merge_runs(x.shape(), y.strides(), x.strides(), x.strides()),
                         y.mutable_data<T>(), x.data<T>());
    return y;
  });
}

void add_into(Tensor& x, const Tensor& y) {
  check(x.dtype() == y.dtype(), "add_into: dtypes differ, {} and {}", x.dtype(), y.dtype());
  check(x.shape() == y.shape() || broadcast_shapes("add_into", x.shape(), y.shape()) == x.shape(),
        "add_into: {} does not broadcast to {}", y.shape(), x.shape());
  // Where x and y look at the same elements in different places, y must be read before any of x is written.
  const bool overlapping = x.shares_storage(y) && !(x.offset() == y.offset() && x.strides() == y.strides());
  const Tensor addend = overlapping ? y.clone() : y;
  dispatch_real("add_into", x.dtype(), [&]<typename T>() {
    const kernels::Runs runs = kernels::merge_runs(x.shape(), x.strides(), x.strides(),
                                                   broadcast_strides(addend.shape(), addend.strides(), x.shape()));
    kernels::arithmetic_into(Arithmetic::Add, runs, x.mutable_data<T>(), addend.data<T>());
  });
}

void scale_into(Tensor& x, double c) { number_into("scale_into", Arithmetic::Multiply, x, c); }
void divide_into(Tensor& x, double c) { number_into("divide_into", Arithmetic::Divide, x, c); }

}  // namespace ringlet
