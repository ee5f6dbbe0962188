// 64-bit numbers as they stand in output, JSON and checkpoints: 16 hex digits. A JSON number would lose the low bits.
#pragma once

#include <cstdint>
#include <string>

namespace ringlet {

inline std::string hex(uint64_t value) {
  std::string digits(16, '0');
  for (size_t i = 16; i-- > 0; value >>= 4U) {
    digits[i] = "0123456789abcdef"[value & 15U];
  }
  return digits;
}

}  // namespace ringlet
