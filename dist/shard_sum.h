// This rank's shard of a gradient, Σ over rounds of micro-batches in order T. A round brings one term, already summed over ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "dist/tree_sum.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/tensor.h"

namespace ringlet {

class ShardSum {
 public:
  ShardSum(Device device, int64_t numel, DType dtype) {
    stack_.push_back(Tensor::zeros(device, {numel}, dtype, Category::Gradients));
  }

  /// Where the next term belongs; `push` says that it is there.
  Tensor& slot() {
    const auto top = static_cast<size_t>(order_.depth());
    if (top == stack_.size()) {
      stack_.push_back(Tensor::empty(sum().device(), sum().shape(), sum().dtype(), Category::Gradients));
    }
    return stack_[top];
  }
  void push() {
    order_.push([this](int lower) { join(lower); });
  }
  /// Joins what waits into `sum()`.
  void fold() {
    order_.fold([this](int lower) { join(lower); });
  }
  void clear() { order_.clear(); }

  /// The same memory in every step.
  const Tensor& sum() const { return stack_.front(); }
  int64_t bytes() const { return static_cast<int64_t>(stack_.size()) * sum().bytes(); }

 private:
  void join(int lower) {
    const auto k = static_cast<size_t>(lower);
    add_into(stack_[k], stack_[k + 1]);
  }

  std::vector<Tensor> stack_;
  TreeOrder order_;
};

}  // namespace ringlet
