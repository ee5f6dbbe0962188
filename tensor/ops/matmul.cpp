#include "tensor/ops/matmul.h"

#include <vector>

#include "tensor/ops/dispatch.h"

namespace ringlet {
namespace {

template <typename T>
kernels::MatrixView<T> matrix(const Tensor& x) {
  return {x.data<T>(), x.strides()[-2], x.strides()[-1]};
}

void check_operands(std::string_view who, const Tensor& a, const Tensor& b) {
  check(a.defined() && b.defined(), "{}: undefined operand", who);
  check(a.rank() >= 2 && a.rank() == b.rank(), "{}: needs two operands of the same rank, 2 or more, got {} x {}", who,
        a.shape(), b.shape());
  check(a.dtype() == b.dtype(), "{}: dtypes differ, {} x {}", who, a.dtype(), b.dtype());
  check(a.dim(-1) == b.dim(-2), "{}: inner dimensions differ, {} x {}", who, a.shape(), b.shape());
  for (int i = 0; i < a.rank() - 2; ++i) {
    check(a.dim(i) == b.dim(i), "{}: leading dimensions differ, {} x {}", who, a.shape(), b.shape());
  }
  check_same_device(who, a, {&b});
}

// Where each batch (row-major over all dims but the last two) begins in `x`, in elements.
std::vector<int64_t> batch_offsets(const Tensor& x, int64_t batches) {
  std::vector<int64_t> offsets(static_cast<size_t>(batches), 0);
  for (int64_t i = 0; i < batches; ++i) {
    int64_t batch = i;
    for (int d = x.rank() - 3; d >= 0; --d) {
      offsets[static_cast<size_t>(i)] += batch % x.dim(d) * x.strides()[d];
      batch /= x.dim(d);
    }
  }
  return offsets;
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  check_operands("matmul", a, b);
  const int64_t M = a.dim(-2), N = b.dim(-1), K = a.dim(-1);
  Tensor c = Tensor::empty(a.device(), a.shape().with(-1, N), a.dtype());
  if (c.numel() == 0) {
    return c;
  }
  const int64_t batches = c.numel() / (M * N);
  with_kernels("matmul", a, [&]<typename T>(const kernels::Table<T>& kernel) {
    if (batches == 1) {
      kernel.matmul(M, N, K, matrix<T>(a), matrix<T>(b), c.mutable_data<T>());
      return;
    }
    const std::vector<int64_t> a_offset = batch_offsets(a, batches), b_offset = batch_offsets(b, batches);
    kernel.matmul_batched(batches, M, N, K, matrix<T>(a), a_offset.data(), matrix<T>(b), b_offset.data(), c.mutable_data<T>());
  });
  return c;
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_operands("linear", x, weight);
  check(x.rank() == 2, "linear: needs 2-D operands, got {} x {}", x.shape(), weight.shape());
  check_shape("linear: bias", bias, {weight.dim(1)});
  check_dtype("linear: bias", bias, x.dtype());
  check_same_device("linear", x, {&bias});
  const Tensor b = bias.contiguous();
  Tensor y = Tensor::empty(x.device(), {x.dim(0), weight.dim(1)}, x.dtype());
  if (y.numel() > 0) {
    with_kernels("linear", x, [&]<typename T>(const kernels::Table<T>& kernel) {
      kernel.linear(x.dim(0), weight.dim(1), x.dim(1), matrix<T>(x), matrix<T>(weight), b.data<T>(), y.mutable_data<T>());
    });
  }
  return y;
}

void matmul_add_into(Tensor& c, const Tensor& a, const Tensor& b) {
  check_operands("matmul_add_into", a, b);
  check(a.rank() == 2, "matmul_add_into: needs 2-D operands, got {} x {}", a.shape(), b.shape());
  check_shape("matmul_add_into: c", c, {a.dim(0), b.dim(1)});
  check_dtype("matmul_add_into: c", c, a.dtype());
  check(c.dim(1) <= 1 || c.strides()[1] == 1, "matmul_add_into: c must be contiguous in its last dim, got strides {}",
        c.strides());
  check(!c.shares_storage(a) && !c.shares_storage(b), "matmul_add_into: c shares its storage with an operand");
  check_same_device("matmul_add_into", c, {&a});
  with_kernels("matmul_add_into", a, [&]<typename T>(const kernels::Table<T>& kernel) {
    kernel.matmul_add(a.dim(0), b.dim(1), a.dim(1), matrix<T>(a), matrix<T>(b), c.mutable_data<T>(), c.strides()[0]);
  });
}

}  // namespace ringlet
