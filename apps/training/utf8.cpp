#include "apps/training/utf8.h"

#include <cstdint>

#include "tensor/base/check.h"

namespace ringlet {
namespace {

// Bytes that the first byte of a character announces; 0 when no character begins with it.
size_t length_of(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;  // C0 and C1 would be overlong
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;
}

}  // namespace

char32_t next_code_point(std::string_view text, size_t& offset) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[offset + i]); };
  const size_t length = length_of(byte(0));
  bool valid = length > 0 && offset + length <= text.size();
  char32_t point = 0;
  if (valid) {
    point = length == 1 ? byte(0) : byte(0) & (0x7FU >> length);
    for (size_t i = 1; i < length; ++i) {
      valid = valid && (byte(i) & 0xC0U) == 0x80U;
      point = point << 6 | (byte(i) & 0x3FU);
    }
    constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    valid = valid && point >= kSmallest[length] && point <= 0x10FFFF && !(point >= 0xD800 && point < 0xE000);
  }
  check<DataError>(valid, "chars: not UTF-8 at byte {} (value {}); --tokenizer bytes reads any file", offset, int{byte(0)});
  offset += length;
  return point;
}

void append_utf8(std::string& text, char32_t code_point) {
  const auto put = [&](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

}  // namespace ringlet
