#include "dist/recorded_passes.h"

namespace ringlet {
namespace {

// An undefined tensor is one that the loss does not need; it has no extents, where a scalar has none either, but no batch is one.
std::vector<int64_t> extents_of(const Tensor& x) {
  std::vector<int64_t> extents;
  for (int i = 0; x.defined() && i < x.rank(); ++i) {
    extents.push_back(x.dim(i));
  }
  return extents;
}

void copy(Tensor& to, const Tensor& from, Device device) {
  if (from.defined() && !to.defined()) {
    to = Tensor::empty(device, from.shape(), from.dtype());
  }
  if (from.defined()) {
    to.copy_from(from);
  }
}

TokenSum copy_of(const TokenSum& loss) { return {loss.sum.copy(), loss.count.copy()}; }

}  // namespace

RecordedPasses::RecordedPasses(Module& module, Device device) : module_(module), device_(device) {
  check(device != Device{}, "recorded passes: are repeated by a GPU, got parameters on {}", device);
  for (const auto& [path, one] : module.modules()) {
    if (auto* dropout = dynamic_cast<Dropout*>(one)) {
      dropouts_.push_back(dropout);
    }
  }
  memory_ = std::make_shared<Allocator>(gpu().memory(device.index), Allocator::on(device));
  indices_ = Tensor::zeros(device, {static_cast<int64_t>(dropouts_.size())}, DType::I64);
  for (size_t i = 0; i < dropouts_.size(); ++i) {
    dropouts_[i]->read_index_at(indices_.narrow(0, static_cast<int64_t>(i), 1));
  }
}

RecordedPasses::~RecordedPasses() {
  for (Dropout* dropout : dropouts_) {
    dropout->read_index_at(Tensor());
  }
}

void RecordedPasses::write_indices() {
  std::vector<int64_t> now;
  for (const Dropout* dropout : dropouts_) {
    now.push_back(static_cast<int64_t>(dropout->index()));
  }
  if (!now.empty()) {
    indices_.write_bytes(reinterpret_cast<const std::byte*>(now.data()));
  }
}

const RecordedPasses::Batch& RecordedPasses::copied(const std::pair<Extents, Extents>& extents, const Tensor& tokens,
                                                    const Tensor& targets) {
  Batch& batch = batches_[extents];
  copy(batch.tokens, tokens, device_);
  copy(batch.targets, targets, device_);
  return batch;
}

TokenSum RecordedPasses::run(const Tensor& gradient, const Tensor& tokens, const Tensor& targets, const Pass& pass) {
  write_indices();
  const Batch& batch = copied({extents_of(tokens), extents_of(targets)}, tokens, targets);
  const auto compute = [&] {
    const AllocatorScope scope(memory_);
    const TokenLoss loss = pass(batch.tokens, batch.targets);
    return TokenSum{Later<double>(loss.sum.data()), loss.count};
  };
  const auto [found, is_new] = kinds_.try_emplace({gradient.raw_data(), &batch, module_.training()});
  Kind& kind = found->second;
  if (is_new) {
    const TokenSum loss = compute();  // what it frees is there for the recording, which may not ask for memory
    kind.loss = copy_of(loss);
  } else {
    if (kind.work == nullptr) {
      kind.work = gpu().record([&] {
        const TokenSum loss = compute();
        loss.sum.copy_to(kind.loss.sum);
        loss.count.copy_to(kind.loss.count);
      });
    }
    kind.work->launch();
  }
  return copy_of(kind.loss);
}

}  // namespace ringlet
