#include "dist/flat_gradient.h"

#include <cstring>

#include "tensor/ops/arithmetic.h"

namespace ringlet {

FlatGradient::FlatGradient(const FlatParameter& parameter) : parameter_(parameter) { point_variables_at(0); }

void FlatGradient::point_variables_at(size_t buffer) {
  if (buffer == buffers_.size()) {
    const Tensor& like = parameter_.data();
    buffers_.push_back(Tensor::zeros(like.shape(), like.dtype(), Category::Gradients));
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

void FlatGradient::begin_micro_batch() {
  const auto top = static_cast<size_t>(order_.depth());
  point_variables_at(top);
  std::memset(buffers_[top].mutable_raw_data(), 0, static_cast<size_t>(buffers_[top].bytes()));
}

void FlatGradient::end_micro_batch() {
  order_.push([this](int lower) { join(lower); });
}

void FlatGradient::finish() {
  if (order_.terms() == 0) {
    std::memset(buffers_[0].mutable_raw_data(), 0, static_cast<size_t>(buffers_[0].bytes()));
  }
  order_.fold([this](int lower) { join(lower); });
  point_variables_at(0);
}

void FlatGradient::join(int lower) {
  const auto k = static_cast<size_t>(lower);
  add_into(buffers_[k], buffers_[k + 1]);
}

}  // namespace ringlet
