#include "apps/training/dataset.h"

#include <algorithm>
#include <numeric>

#include "tensor/base/check.h"
#include "tensor/base/hash.h"
#include "tensor/base/random.h"

namespace ringlet {

// Fisher and Yates' shuffle of the order in which the cycle visits the tokens: a uniformly chosen cyclic permutation.
CyclicDataset::CyclicDataset(int64_t vocab_size, uint64_t seed) : cycle_(static_cast<size_t>(vocab_size)) {
  check(vocab_size > 0, "synthetic corpus: needs a vocabulary of at least 1, got {}", vocab_size);
  std::iota(cycle_.begin(), cycle_.end(), 0);
  const RandomStream random(seed, "data/cycle");
  for (size_t i = cycle_.size() - 1; i > 0; --i) {
    std::swap(cycle_[i], cycle_[random.below(i, i + 1)]);
  }
}

void CyclicDataset::read(int64_t step, int64_t sequence, int64_t sequences, std::span<int32_t> block) const {
  const int64_t V = vocab_size();
  const int64_t start = (sequence * V / sequences + step) % V;
  for (size_t t = 0; t < block.size(); ++t) {
    block[t] = cycle_[static_cast<size_t>((start + static_cast<int64_t>(t)) % V)];
  }
}

uint64_t CyclicDataset::fingerprint() const { return hash_bytes(std::as_bytes(std::span(cycle_))); }

std::string CyclicDataset::description() const {
  return message("synthetic, one cyclic permutation of {} tokens", vocab_size());
}

int64_t TextDataset::start(int64_t step, int64_t sequence, int64_t block_tokens) const {
  const int64_t starts = static_cast<int64_t>(corpus_.training().size()) - block_tokens + 1;
  check(starts > 0, "corpus: {} tokens to train on, a sequence needs {}", corpus_.training().size(), block_tokens);
  const RandomStream random(seed_, "data/start", static_cast<uint64_t>(step));
  return static_cast<int64_t>(random.below(static_cast<uint64_t>(sequence), static_cast<uint64_t>(starts)));
}

void TextDataset::read(int64_t step, int64_t sequence, int64_t /*sequences*/, std::span<int32_t> block) const {
  const int64_t first = start(step, sequence, static_cast<int64_t>(block.size()));
  std::ranges::copy(corpus_.training().subspan(static_cast<size_t>(first), block.size()), block.begin());
}

std::string TextDataset::description() const {
  return message("{}, {} of {} symbols: {} tokens to train on, {} held out", corpus_.path(),
                 name_of(corpus_.tokenizer().kind()), vocab_size(), corpus_.training().size(), corpus_.heldout().size());
}

}  // namespace ringlet
