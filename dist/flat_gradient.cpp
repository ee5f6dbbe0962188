#include "dist/flat_gradient.h"

#include "tensor/ops/arithmetic.h"

namespace ringlet {

void FlatGradient::point_variables_at(size_t buffer) {
  if (buffer == buffers_.size()) {
    const Tensor& like = parameter_.data();
    buffers_.push_back(Tensor::zeros(like.device(), like.shape(), like.dtype(), Category::Gradients));
    views_.emplace_back();
    for (const FlatParameter::Entry& entry : parameter_.entries()) {
      views_.back().push_back(parameter_.view(entry, buffers_.back()));
    }
  }
  for (size_t i = 0; i < views_[buffer].size(); ++i) {
    Var var = parameter_.entries()[i].var;
    var.set_grad(views_[buffer][i]);
  }
}

const Tensor& FlatGradient::reserve() {
  point_variables_at(0);
  return sum();
}

void FlatGradient::begin_micro_batch() {
  const auto top = static_cast<size_t>(order_.depth());
  point_variables_at(top);
  buffers_[top].zero();
  open_ = true;
}

// [snippet: finish_range]
// The last term carries down the whole stack, from the shortest sum to the longest, whether the counter says so or the end.
Tensor FlatGradient::finish_range(int64_t begin, int64_t end) {
  if (open_) {
    for (auto k = static_cast<size_t>(order_.depth()); k > 0; --k) {
      Tensor lower = buffers_[k - 1].narrow(0, begin, end - begin);
      add_into(lower, buffers_[k].narrow(0, begin, end - begin));
    }
    finished_ += end - begin;
  }
  return buffers_.front().narrow(0, begin, end - begin);
}
// [/snippet]

void FlatGradient::end_micro_batch() {
  if (finished_ == 0) {
    order_.push([this](int lower) { join(lower); });
  } else {
    check(finished_ == sum().numel(), "flat gradient: all of the last micro-batch must be finished, got {} of {} elements",
          finished_, sum().numel());
    const auto joined = [](int) {};
    order_.push(joined);
    order_.fold(joined);
  }
  open_ = false;
  finished_ = 0;
}

void FlatGradient::release() {
  clear();
  buffers_.clear();
  views_.clear();
  for (const FlatParameter::Entry& entry : parameter_.entries()) {
    Var var = entry.var;
    var.clear_grad();
  }
}

void FlatGradient::finish() {
  order_.fold([this](int lower) { join(lower); });
  point_variables_at(0);
}

void FlatGradient::join(int lower) {
  const auto k = static_cast<size_t>(lower);
  add_into(buffers_[k], buffers_[k + 1]);
}

}  // namespace ringlet
