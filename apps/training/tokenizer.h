// Text to token ids and back.
//
//   bytes   256 tokens: every file can be read, every byte survives.
//   chars   one token per distinct character of the text, in ascending order (nanoGPT's character level: 65 for Tiny
//           Shakespeare). A character is a Unicode code point: the text must be valid UTF-8. Line ends are kept as they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ringlet {

class Tokenizer {
 public:
  enum class Kind : uint8_t { Bytes, Chars };

  /// Byte-level.
  Tokenizer() = default;
  /// The vocabulary that `text` calls for. Throws DataError naming the byte offset when chars meets bytes that are not UTF-8.
  static Tokenizer from_text(Kind kind, std::string_view text);

  Kind kind() const { return kind_; }
  int64_t vocab_size() const { return kind_ == Kind::Bytes ? 256 : static_cast<int64_t>(alphabet_.size()); }
  /// Throws DataError for a character outside of the vocabulary.
  std::vector<int32_t> encode(std::string_view text) const;
  /// Ids in 0 .. vocab_size() − 1; anything else is an Error.
  std::string decode(const std::vector<int32_t>& ids) const;
  /// The same for the same vocabulary.
  uint64_t fingerprint() const;

 private:
  Kind kind_ = Kind::Bytes;
  std::u32string alphabet_;  // chars: code points, ascending; the index is the id
};

/// "bytes", "chars".
std::string_view name_of(Tokenizer::Kind kind);

}  // namespace ringlet
