#include "tensor/ops/arithmetic.h"

#include "tensor/ops/dispatch.h"

namespace ringlet {
namespace {

using kernels::Arithmetic;

Tensor broadcast(std::string_view who, Arithmetic op, const Tensor& a, const Tensor& b) {
  check(a.dtype() == b.dtype(), "{}: dtypes differ, {} and {}", who, a.dtype(), b.dtype());
  check_same_device(who, a, {&b});
  return with_kernels(who, a, [&]<typename T>(const kernels::Table<T>& kernel) {
    const Shape shape = a.shape() == b.shape() ? a.shape() : broadcast_shapes(who, a.shape(), b.shape());
    Tensor y = Tensor::empty(a.device(), shape, a.dtype());
    const kernels::Runs runs = kernels::merge_runs(shape, y.strides(), broadcast_strides(a.shape(), a.strides(), shape),
                                                   broadcast_strides(b.shape(), b.strides(), shape));
    kernel.arithmetic(op, runs, y.mutable_data<T>(), a.data<T>(), b.data<T>());
    return y;
  });
}

Tensor with_number(std::string_view who, Arithmetic op, const Tensor& x, double c) {
  return with_kernels(who, x, [&]<typename T>(const kernels::Table<T>& kernel) {
    Tensor y = Tensor::empty(x.device(), x.shape(), x.dtype());
    const kernels::Runs runs = kernels::merge_runs(x.shape(), y.strides(), x.strides(), Shape::filled(x.rank(), 0));
    kernel.arithmetic_number(op, runs, y.mutable_data<T>(), x.data<T>(), static_cast<T>(c));
    return y;
  });
}

void number_into(std::string_view who, Arithmetic op, Tensor& x, double c) {
  with_kernels(who, x, [&]<typename T>(const kernels::Table<T>& kernel) {
    const kernels::Runs runs = kernels::merge_runs(x.shape(), x.strides(), x.strides(), Shape::filled(x.rank(), 0));
    kernel.arithmetic_number_into(op, runs, x.mutable_data<T>(), static_cast<T>(c));
  });
}

void tensor_into(std::string_view who, Arithmetic op, Tensor& x, const Tensor& y) {
  check(x.dtype() == y.dtype(), "{}: dtypes differ, {} and {}", who, x.dtype(), y.dtype());
  check(x.shape() == y.shape() || broadcast_shapes(who, x.shape(), y.shape()) == x.shape(), "{}: {} does not broadcast to {}",
        who, y.shape(), x.shape());
  // Where x and y look at the same elements in different places, y must be read before any of x is written.
  const bool overlapping = x.shares_storage(y) && !(x.offset() == y.offset() && x.strides() == y.strides());
  const Tensor operand = overlapping ? y.clone() : y;
  check_same_device(who, x, {&y});
  with_kernels(who, x, [&]<typename T>(const kernels::Table<T>& kernel) {
    const kernels::Runs runs = kernels::merge_runs(x.shape(), x.strides(), x.strides(),
                                                   broadcast_strides(operand.shape(), operand.strides(), x.shape()));
    kernel.arithmetic_into(op, runs, x.mutable_data<T>(), operand.data<T>());
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
  return with_kernels("negate", x, [&]<typename T>(const kernels::Table<T>& kernel) {
    Tensor y = Tensor::empty(x.device(), x.shape(), x.dtype());
    kernel.elementwise(kernels::Function::Negate, kernels::merge_runs(x.shape(), y.strides(), x.strides(), x.strides()),
                       y.mutable_data<T>(), x.data<T>());
    return y;
  });
}

void add_into(Tensor& x, const Tensor& y) { tensor_into("add_into", Arithmetic::Add, x, y); }
void multiply_into(Tensor& x, const Tensor& y) { tensor_into("multiply_into", Arithmetic::Multiply, x, y); }
void scale_into(Tensor& x, double c) { number_into("scale_into", Arithmetic::Multiply, x, c); }
void divide_into(Tensor& x, double c) { number_into("divide_into", Arithmetic::Divide, x, c); }

}  // namespace ringlet
