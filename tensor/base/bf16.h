// bfloat16: the upper half of an fp32. Eight bits of exponent, seven of mantissa: the range of fp32 with 2 to 3 decimal digits.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ringlet {

/// A storage type: arithmetic converts to fp32 first. Rounding is to nearest, ties to even; NaN stays NaN (made quiet).
struct bf16 {
  uint16_t bits = 0;

  bf16() = default;
  constexpr explicit bf16(float value) : bits(round_from(value)) {}
  constexpr explicit bf16(double value) : bf16(static_cast<float>(value)) {}
  constexpr explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  constexpr explicit operator double() const { return static_cast<float>(*this); }

  friend constexpr bool operator==(bf16 a, bf16 b) { return static_cast<float>(a) == static_cast<float>(b); }

 private:
  // Adding 0x7fff plus the lowest kept bit carries into the kept half exactly when rounding up is right (ties to even).
  static constexpr uint16_t round_from(float value) {
    const uint32_t raw = std::bit_cast<uint32_t>(value);
    if ((raw & 0x7fffffffU) > 0x7f800000U) {
      return static_cast<uint16_t>((raw >> 16) | 0x0040U);
    }
    return static_cast<uint16_t>((raw + 0x7fffU + ((raw >> 16) & 1U)) >> 16);
  }
};

}  // namespace ringlet
