// A text on disk as tokens: the first part to train on, the rest held out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/training/tokenizer.h"

namespace ringlet {

struct CorpusOptions {
  std::string path;
  Tokenizer::Kind tokenizer = Tokenizer::Kind::Bytes;
  int64_t block = 16;             // tokens of one training sequence; its targets need one more
  double heldout_fraction = 0.1;  // of the tokens, at the end
  bool allow_binary = false;
};

/// Reading throws DataError that names the file, the rule and what was found: missing, not a regular file, empty, fewer than
/// block + 1 tokens, chars that are not UTF-8, or binary. Binary is more than 5 % control characters (other than tab, line
/// ends, backspace and escape) and at least 64 of them: an executable, a compressed file; `allow_binary` reads it all the same.
/// A few NUL or high bytes do not make a text binary, and every byte survives. Four bytes of memory per token.
class Corpus {
 public:
  explicit Corpus(const CorpusOptions& options);

  const Tokenizer& tokenizer() const { return tokenizer_; }
  const std::string& path() const { return path_; }
  /// The first ⌊(1 − held-out fraction)·n⌋ tokens, but never fewer than block + 1.
  std::span<const int32_t> training() const { return std::span(tokens_).first(split_); }
  /// The rest; empty when it would be a single token, which predicts nothing: then all is training.
  std::span<const int32_t> heldout() const { return std::span(tokens_).subspan(split_); }
  /// Hash of the file's bytes, tokenizer and split: two corpora with the same one train alike.
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  std::string path_;
  Tokenizer tokenizer_;
  std::vector<int32_t> tokens_;
  size_t split_ = 0;
  uint64_t fingerprint_ = 0;
};

/// H = −Σ p·ln p over the relative frequencies p of the tokens, in nats: what a model without context can reach.
double unigram_entropy(std::span<const int32_t> tokens, int64_t vocab_size);

}  // namespace ringlet
