#include "tensor/ops/cross_entropy.h"

#include "tensor/ops/dispatch.h"

namespace ringlet {
namespace {

void check_operands(std::string_view who, const Tensor& logits, const Tensor& targets) {
  check(logits.rank() == 2, "{}: logits must be [N, V], got {}", who, logits.shape());
  check_shape(who, targets, {logits.dim(0)});
  check_dtype(who, targets, DType::I32);
  check_same_device(who, logits, {&targets});
}

// How many labels are counted. Throws at the first that is neither a class nor `kIgnoreIndex`.
Tensor count_labels(const Tensor& labels, int64_t V) {
  Tensor counted = Tensor::empty(labels.device(), {}, DType::I64);
  kernels::tables_on(labels.device().kind)
      .count_labels(labels.data<int32_t>(), labels.numel(), kIgnoreIndex, V, counted.mutable_data<int64_t>());
  return counted;
}

}  // namespace

CrossEntropy cross_entropy(const Tensor& logits, const Tensor& targets) {
  check_operands("cross_entropy: targets", logits, targets);
  const Tensor z = logits.contiguous(), labels = targets.contiguous();
  const int64_t rows = z.dim(0), V = z.dim(1);
  return with_kernels("cross_entropy", z, [&]<typename T>(const kernels::Table<T>& kernel) {
    using Sum = Accumulator<T>;
    CrossEntropy out{.sum = Tensor::empty(z.device(), {}, dtype_of<Sum>),
                     .count = Later<int64_t>(count_labels(labels, V)),
                     .log_sum = Tensor::empty(z.device(), {rows}, DType::F64)};
    kernel.cross_entropy(z.data<T>(), labels.data<int32_t>(), kIgnoreIndex, out.log_sum.mutable_data<double>(),
                         out.sum.mutable_data<Sum>(), rows, V);
    return out;
  });
}

Tensor cross_entropy_backward(const Tensor& d, const Tensor& logits, const Tensor& targets, const Tensor& log_sum) {
  check_operands("cross_entropy_backward: targets", logits, targets);
  check_shape("cross_entropy_backward: d", d, {});
  check_shape("cross_entropy_backward: log_sum", log_sum, {logits.dim(0)});
  const Tensor z = logits.contiguous(), labels = targets.contiguous(), sums = log_sum.contiguous();
  check_same_device("cross_entropy_backward", z, {&d, &sums});
  count_labels(labels, z.dim(1));
  return with_kernels("cross_entropy_backward", z, [&]<typename T>(const kernels::Table<T>& kernel) {
    using Sum = Accumulator<T>;
    check_dtype("cross_entropy_backward: d", d, dtype_of<Sum>);
    Tensor dz = Tensor::empty(z.device(), z.shape(), z.dtype());
    kernel.cross_entropy_backward(d.data<Sum>(), z.data<T>(), labels.data<int32_t>(), kIgnoreIndex, sums.data<double>(),
                                  dz.mutable_data<T>(), z.dim(0), z.dim(1));
    return dz;
  });
}

}  // namespace ringlet
