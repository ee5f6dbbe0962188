#include "tensor/ops/matmul.h"

#include "tensor/kernels/cpu/matmul.h"
#include "tensor/kernels/cpu/parallel.h"

namespace ringlet {
namespace {

template <typename T>
kernels::MatrixView<T> matrix(const Tensor& x, int64_t offset = 0) {
  return {x.data<T>() + offset, x.strides()[-2], x.strides()[-1]};
}

void check_operands(const Tensor& a, const Tensor& b) {
  check(a.defined() && b.defined(), "matmul: undefined operand");
  check(a.rank() >= 2 && a.rank() == b.rank(), "matmul: needs two operands of the same rank, 2 or more, got {} x {}", a.shape(),
        b.shape());
  check(a.dtype() == b.dtype(), "matmul: dtypes differ, {} x {}", a.dtype(), b.dtype());
  check(a.dim(-1) == b.dim(-2), "matmul: inner dimensions differ, {} x {}", a.shape(), b.shape());
  for (int i = 0; i < a.rank() - 2; ++i) {
    check(a.dim(i) == b.dim(i), "matmul: leading dimensions differ, {} x {}", a.shape(), b.shape());
  }
}

// Where batch number `batch` (row-major over all dims but the last two) begins in `x`, in elements.
int64_t batch_offset(const Tensor& x, int64_t batch) {
  int64_t offset = 0;
  for (int d = x.rank() - 3; d >= 0; --d) {
    offset += batch % x.dim(d) * x.strides()[d];
    batch /= x.dim(d);
  }
  return offset;
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  check_operands(a, b);
  const int64_t M = a.dim(-2), N = b.dim(-1), K = a.dim(-1);
  Tensor c = Tensor::zeros(a.shape().with(-1, N), a.dtype());
  if (c.numel() == 0) {
    return c;
  }
  const int64_t batches = c.numel() / (M * N);
  dispatch_real("matmul", a.dtype(), [&]<typename T>() {
    T* out = c.mutable_data<T>();
    if (batches == 1) {
      kernels::matmul_add<T>(M, N, K, matrix<T>(a), matrix<T>(b), out, N);
      return;
    }
    kernels::parallel_for(batches, M * N * K, [&](int64_t i) {
      kernels::matmul_add_serial<T>(M, N, K, matrix<T>(a, batch_offset(a, i)), matrix<T>(b, batch_offset(b, i)),
                                    out + i * M * N, N);
    });
  });
  return c;
}

void matmul_add_into(Tensor& c, const Tensor& a, const Tensor& b) {
  check_operands(a, b);
  check(a.rank() == 2, "matmul_add_into: needs 2-D operands, got {} x {}", a.shape(), b.shape());
  check_shape("matmul_add_into: c", c, {a.dim(0), b.dim(1)});
  check_dtype("matmul_add_into: c", c, a.dtype());
  check(c.dim(1) <= 1 || c.strides()[1] == 1, "matmul_add_into: c must be contiguous in its last dim, got strides {}",
        c.strides());
  check(!c.shares_storage(a) && !c.shares_storage(b), "matmul_add_into: c shares its storage with an operand");
  dispatch_real("matmul", a.dtype(), [&]<typename T>() {
    kernels::matmul_add<T>(a.dim(0), b.dim(1), a.dim(1), matrix<T>(a), matrix<T>(b), c.mutable_data<T>(), c.strides()[0]);
  });
}

}  // namespace ringlet
