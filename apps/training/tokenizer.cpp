#include "apps/training/tokenizer.h"

#include <algorithm>
#include <span>

#include "apps/training/utf8.h"
#include "tensor/base/check.h"
#include "tensor/base/hash.h"

namespace ringlet {

std::string_view name_of(Tokenizer::Kind kind) { return kind == Tokenizer::Kind::Bytes ? "bytes" : "chars"; }

Tokenizer Tokenizer::from_text(Kind kind, std::string_view text) {
  Tokenizer made;
  made.kind_ = kind;
  if (kind == Kind::Bytes) {
    return made;
  }
  std::vector<bool> seen(0x110000);
  for (size_t offset = 0; offset < text.size();) {
    seen[next_code_point(text, offset)] = true;
  }
  for (size_t point = 0; point < seen.size(); ++point) {
    if (seen[point]) {
      made.alphabet_.push_back(static_cast<char32_t>(point));
    }
  }
  return made;
}

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  ids.reserve(text.size());
  if (kind_ == Kind::Bytes) {
    for (const char c : text) {
      ids.push_back(static_cast<uint8_t>(c));
    }
    return ids;
  }
  for (size_t offset = 0; offset < text.size();) {
    const size_t at = offset;
    const char32_t point = next_code_point(text, offset);
    const auto found = std::lower_bound(alphabet_.begin(), alphabet_.end(), point);
    check<DataError>(found != alphabet_.end() && *found == point,
                     "chars: the character at byte {} (code point {}) is not in the vocabulary", at,
                     static_cast<uint32_t>(point));
    ids.push_back(static_cast<int32_t>(found - alphabet_.begin()));
  }
  return ids;
}

std::string Tokenizer::decode(const std::vector<int32_t>& ids) const {
  std::string text;
  for (const int32_t id : ids) {
    check(id >= 0 && id < vocab_size(), "tokenizer: ids go from 0 to {}, got {}", vocab_size() - 1, id);
    if (kind_ == Kind::Bytes) {
      text.push_back(static_cast<char>(id));
    } else {
      append_utf8(text, alphabet_[static_cast<size_t>(id)]);
    }
  }
  return text;
}

uint64_t Tokenizer::fingerprint() const {
  return hash_bytes(std::as_bytes(std::span(alphabet_)), static_cast<uint64_t>(kind_));
}

}  // namespace ringlet
