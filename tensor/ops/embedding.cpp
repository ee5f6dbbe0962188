#include "tensor/ops/embedding.h"

#include "tensor/ops/dispatch.h"

namespace ringlet {
namespace {

void check_ids(std::string_view who, const Tensor& table, const Tensor& ids, int64_t rows) {
  check_same_device(who, table, {&ids});
  kernels::tables_on(ids.device().kind).check_ids(ids.data<int32_t>(), ids.numel(), rows);
}

// [..., C] for ids of shape [...].
Shape with_columns(const Shape& ids, int64_t C) {
  Shape shape = Shape::filled(ids.rank() + 1, C);
  for (int i = 0; i < ids.rank(); ++i) {
    shape[i] = ids[i];
  }
  return shape;
}

}  // namespace

Tensor embedding(const Tensor& table, const Tensor& ids) {
  check(table.rank() == 2, "embedding: table must be [V, C], got {}", table.shape());
  check_dtype("embedding: ids", ids, DType::I32);
  check(ids.rank() < kMaxDims, "embedding: ids have at most {} dims, got {}", kMaxDims - 1, ids.shape());
  const Tensor rows = table.contiguous(), positions = ids.contiguous();
  check_ids("embedding", table, positions, table.dim(0));
  return with_kernels("embedding", table, [&]<typename T>(const kernels::Table<T>& kernel) {
    Tensor y = Tensor::empty(table.device(), with_columns(ids.shape(), table.dim(1)), table.dtype());
    kernel.embedding(rows.data<T>(), positions.data<int32_t>(), y.mutable_data<T>(), ids.numel(), table.dim(1), table.dim(0));
    return y;
  });
}

Tensor embedding_backward(const Tensor& dy, const Tensor& ids, int64_t rows) {
  check_dtype("embedding_backward: ids", ids, DType::I32);
  check(dy.rank() == ids.rank() + 1, "embedding_backward: dy must be [..., C] for ids {}, got {}", ids.shape(), dy.shape());
  const int64_t C = dy.dim(-1);
  check_shape("embedding_backward: dy", dy, with_columns(ids.shape(), C));
  const Tensor positions = ids.contiguous();
  check_ids("embedding_backward", dy, positions, rows);
  const Tensor gradient = dy.dtype() == DType::BF16 ? dy.to(DType::F32) : dy.contiguous();
  return with_kernels("embedding_backward", gradient, [&]<typename T>(const kernels::Table<T>& kernel) {
    Tensor dtable = Tensor::zeros(dy.device(), {rows, C}, gradient.dtype());
    kernel.embedding_backward(gradient.data<T>(), positions.data<int32_t>(), dtable.mutable_data<T>(), ids.numel(), C, rows);
    return dtable;
  });
}

}  // namespace ringlet
