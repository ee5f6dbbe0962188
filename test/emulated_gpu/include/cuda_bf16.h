// bfloat16 as CUDA names it: a storage type. Rounding is to nearest, ties to even; every NaN becomes 0x7fff, as on a device.
#pragma once

#include <cuda_runtime.h>

#include <bit>
#include <cstdint>

struct __nv_bfloat16_raw {
  unsigned short x;
};

struct __nv_bfloat16 {
  unsigned short __x;

  __nv_bfloat16() = default;
  constexpr __nv_bfloat16(__nv_bfloat16_raw raw) : __x(raw.x) {}
  __nv_bfloat16(float value) : __x(round_from(value)) {}
  explicit __nv_bfloat16(double value) : __nv_bfloat16(static_cast<float>(value)) {}
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(__x) << 16); }
  operator __nv_bfloat16_raw() const { return {__x}; }

  // CUDA's would round after each operation: here nobody means that.
  friend __nv_bfloat16 operator+(__nv_bfloat16, __nv_bfloat16) = delete;
  friend __nv_bfloat16 operator-(__nv_bfloat16, __nv_bfloat16) = delete;
  friend __nv_bfloat16 operator*(__nv_bfloat16, __nv_bfloat16) = delete;
  friend __nv_bfloat16 operator/(__nv_bfloat16, __nv_bfloat16) = delete;

 private:
  static unsigned short round_from(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    if (value != value) {
      return 0x7fff;
    }
    return static_cast<unsigned short>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
  }
};
using nv_bfloat16 = __nv_bfloat16;

struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};
using nv_bfloat162 = __nv_bfloat162;

inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
inline __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
inline float __bfloat162float(__nv_bfloat16 x) { return x; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.__x; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return __nv_bfloat16_raw{bits}; }

inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__nv_bfloat16(x), __nv_bfloat16(y)}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 pair) { return __floats2bfloat162_rn(pair.x, pair.y); }
inline float2 __bfloat1622float2(__nv_bfloat162 pair) { return {pair.x, pair.y}; }
inline float __low2float(__nv_bfloat162 pair) { return pair.x; }
inline float __high2float(__nv_bfloat162 pair) { return pair.y; }
