#include "nn/dropout.h"

#include "autograd/ops/dropout.h"

namespace ringlet {

Dropout::Dropout(double probability, uint64_t seed, const std::string& path)
    : probability_(probability), seed_(seed), purpose_("dropout/" + path) {
  check(probability >= 0.0 && probability < 1.0, "Dropout: the probability must be in [0, 1), got {} for {}", probability,
        path);
}

Var Dropout::forward(const Var& x_in) {
  const double p = active_probability();
  return hooked(x_in,
                [&](const Var& x) { return p == 0.0 ? x : dropout(x, p, RandomStream(seed_, purpose_, stream_index())); });
}

AttentionDropout Dropout::for_attention() const { return {active_probability(), seed_, purpose_, stream_index()}; }

void Dropout::read_index_at(const Tensor& at) {
  check(!at.defined() || (at.dtype() == DType::I64 && at.numel() == 1 && at.device() != Device{}),
        "Dropout: an index to be read by kernels must be one i64 on their device, got {} {} on {}", at.dtype(), at.shape(),
        at.device());
  index_at_ = at;
}

StreamIndex Dropout::stream_index() const {
  return index_at_.defined() ? StreamIndex(index_, reinterpret_cast<const uint64_t*>(index_at_.data<int64_t>())) : index_;
}

void set_dropout_index(Module& model, uint64_t index) {
  for (const auto& [path, module] : model.modules()) {
    if (auto* dropout = dynamic_cast<Dropout*>(module)) {
      dropout->set_index(index);
    }
  }
}

}  // namespace ringlet
