#include "apps/training/loader.h"

#include <algorithm>
#include <vector>

#include "tensor/base/hash.h"

namespace ringlet {

Loader::Loader(const Dataset& dataset, MicroBatches plan, int64_t seq_len, int rank, int size, bool in_turn)
    : dataset_(dataset),
      plan_(plan),
      seq_len_(seq_len),
      mine_(in_turn ? IndexRange{rank, plan.count(), size} : dealt_to(plan.count(), size, rank)) {}

Batch Loader::load(int64_t step, int64_t micro_batch) const {
  const IndexRange sequences = plan_.of(micro_batch);
  const Shape shape = {sequences.size(), seq_len_};
  Batch batch = {Tensor::empty(Device{}, shape, DType::I32), Tensor::empty(Device{}, shape, DType::I32)};
  int32_t* tokens = batch.tokens.mutable_data<int32_t>();
  int32_t* targets = batch.targets.mutable_data<int32_t>();
  std::vector<int32_t> block(static_cast<size_t>(seq_len_ + 1));
  for (int64_t sequence = sequences.begin; sequence < sequences.end; ++sequence) {
    dataset_.read(step, sequence, plan_.sequences, block);
    tokens = std::copy(block.begin(), block.end() - 1, tokens);
    targets = std::copy(block.begin() + 1, block.end(), targets);
  }
  return batch;
}

uint64_t Loader::block_hash(int64_t step) const {
  uint64_t hash = 0;
  for (int64_t m = mine_.begin; m < mine_.end; m += mine_.stride) {
    const Batch batch = load(step, m);
    hash = hash_bytes(std::as_bytes(batch.tokens.span<int32_t>()), hash);
    hash = hash_bytes(std::as_bytes(batch.targets.span<int32_t>()), hash);
  }
  return hash;
}

}  // namespace ringlet
