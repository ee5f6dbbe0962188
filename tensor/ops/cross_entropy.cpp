#include "tensor/ops/cross_entropy.h"

#include "tensor/kernels/cpu/cross_entropy.h"

namespace ringlet {
namespace {

void check_operands(std::string_view who, const Tensor& logits, const Tensor& targets) {
  check(logits.rank() == 2, "{}: logits must be [N, V], got {}", who, logits.shape());
  check_shape(who, targets, {logits.dim(0)});
  check_dtype(who, targets, DType::I32);
}

// How many labels are counted. Throws at the first that is neither a class nor `kIgnoreIndex`.
int64_t count_labels(std::span<const int32_t> labels, int64_t V) {
  int64_t counted = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const int32_t label = labels[i];
    check(label == kIgnoreIndex || (label >= 0 && label < V),
          "cross_entropy: label {} at position {}, V = {}, labels are 0 .. {} or {}", label, i, V, V - 1, kIgnoreIndex);
    counted += label != kIgnoreIndex;
  }
  return counted;
}

}  // namespace

CrossEntropy cross_entropy(const Tensor& logits, const Tensor& targets) {
  check_operands("cross_entropy: targets", logits, targets);
  const Tensor z = logits.contiguous(), labels = targets.contiguous();
  const int64_t rows = z.dim(0), V = z.dim(1);
  return dispatch_real("cross_entropy", z.dtype(), [&]<typename T>() {
    CrossEntropy out{.sum = Tensor::empty({}, z.dtype()),
                     .count = count_labels(labels.span<int32_t>(), V),
                     .log_sum = Tensor::empty({rows}, DType::F64)};
    *out.sum.mutable_data<T>() = static_cast<T>(
        kernels::cross_entropy(z.data<T>(), labels.data<int32_t>(), kIgnoreIndex, out.log_sum.mutable_data<double>(), rows, V));
    return out;
  });
}

Tensor cross_entropy_backward(const Tensor& d, const Tensor& logits, const Tensor& targets, const Tensor& log_sum) {
  check_operands("cross_entropy_backward: targets", logits, targets);
  check_shape("cross_entropy_backward: d", d, {});
  check_dtype("cross_entropy_backward: d", d, logits.dtype());
  check_shape("cross_entropy_backward: log_sum", log_sum, {logits.dim(0)});
  const Tensor z = logits.contiguous(), labels = targets.contiguous(), sums = log_sum.contiguous();
  count_labels(labels.span<int32_t>(), z.dim(1));
  return dispatch_real("cross_entropy_backward", z.dtype(), [&]<typename T>() {
    Tensor dz = Tensor::empty(z.shape(), z.dtype());
    kernels::cross_entropy_backward(*d.data<T>(), z.data<T>(), labels.data<int32_t>(), kIgnoreIndex, sums.data<double>(),
                                    dz.mutable_data<T>(), z.dim(0), z.dim(1));
    return dz;
  });
}

}  // namespace ringlet
