#include "autograd/ops/cross_entropy.h"

#include "autograd/record.h"

namespace ringlet {
namespace {

// [snippet: rule]
// L = Σ_n log Σ_v exp(z_nv) − z_n,label          over the rows n that are counted
// dz = d·(softmax(z) − onehot(label))            z: [N, V]   d = dL: []
struct CrossEntropyRule {
  static constexpr std::string_view kName = "cross_entropy";
  Saved z, targets, log_sum;  // [N, V]  [N]  [N]
  Shape logits;               // [..., V]

  Grads backward(const Tensor& d) const { return {cross_entropy_backward(d, z, targets, log_sum).reshape(logits)}; }
};
// [/snippet]

}  // namespace

SummedLoss cross_entropy(const Var& logits, const Tensor& targets) {
  check(logits.rank() >= 1, "cross_entropy: logits must be [..., V], got a scalar");
  const Shape rows = logits.shape().without(-1);
  check_shape("cross_entropy: targets", targets, rows);
  const int64_t N = rows.numel(), V = logits.dim(-1);
  const Tensor z = logits.data().reshape({N, V});
  const Tensor labels = targets.reshape({N});
  const CrossEntropy loss = cross_entropy(z, labels);
  return {record(loss.sum, {logits},
                 CrossEntropyRule{.z = z, .targets = labels, .log_sum = loss.log_sum, .logits = logits.shape()}),
          loss.count};
}

}  // namespace ringlet
