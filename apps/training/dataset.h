// Where training sequences come from.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "apps/training/corpus.h"

namespace ringlet {

/// Sequence g of step s is a pure function of (s, g): the same whichever rank asks, at every world size, before and after a
/// resume. Nothing is drawn, so there is no position to save but the step.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t vocab_size() const = 0;
  /// Fills `block` (T + 1 tokens: T inputs, and the same shifted by one as targets) with sequence `sequence` of the
  /// `sequences` that make up step `step`.
  virtual void read(int64_t step, int64_t sequence, int64_t sequences, std::span<int32_t> block) const = 0;
  /// The same for datasets that train alike.
  virtual uint64_t fingerprint() const = 0;
  /// For the first lines of the output.
  virtual std::string description() const = 0;
};

/// Synthetic and learnable: one seeded cyclic permutation π of the vocabulary, the task is to predict π(x) from x. The starts
/// of a step's G sequences are spread evenly over the cycle, shifted from step to step:
///   start(s, g) = ⌊g·V/G⌋ + s   on the cycle.
/// So batches differ but every step poses the same task, every transition equally often, and the loss can fall at every step.
class CyclicDataset final : public Dataset {
 public:
  CyclicDataset(int64_t vocab_size, uint64_t seed);
  int64_t vocab_size() const override { return static_cast<int64_t>(cycle_.size()); }
  void read(int64_t step, int64_t sequence, int64_t sequences, std::span<int32_t> block) const override;
  uint64_t fingerprint() const override;
  std::string description() const override;

 private:
  std::vector<int32_t> cycle_;  // the tokens in the order in which π visits them
};

/// Random windows of a corpus: the start of sequence g of step s is uniform over all that fit, drawn with counter-based
/// randomness from (seed, s, g).
class TextDataset final : public Dataset {
 public:
  /// `corpus` must outlive this.
  TextDataset(const Corpus& corpus, uint64_t seed) : corpus_(corpus), seed_(seed) {}
  int64_t vocab_size() const override { return corpus_.tokenizer().vocab_size(); }
  void read(int64_t step, int64_t sequence, int64_t sequences, std::span<int32_t> block) const override;
  /// Where that sequence starts: 0 … training tokens − block_tokens.
  int64_t start(int64_t step, int64_t sequence, int64_t block_tokens) const;
  uint64_t fingerprint() const override { return corpus_.fingerprint(); }
  std::string description() const override;

 private:
  const Corpus& corpus_;
  uint64_t seed_;
};

}  // namespace ringlet
