// Elementary functions of one fp32 number, made of multiply-adds and selects alone, so that a compiler can run any number of
// them side by side: no branch, no table, no call. Vector body and scalar tail of a loop then agree to the bit.
//
// The polynomials are minimax (Remez exchange in 40 digits, coefficients rounded to fp32), fitted for this file. Errors in ulp
// are the largest seen over a dense sweep against long double (test/tensor/math_test.cpp). fp64 is the C library's.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ringlet::kernels {

// x = n·ln 2 + r with |r| ≤ ln(2)/2. Adding 1.5·2^23 rounds to an integer and leaves it in the low bits of the sum; ln 2 is
// subtracted in two pieces (Cody & Waite, 1980), the first short enough that n times it is exact.
struct ReducedExp {
  uint32_t n;  // two's complement
  float q;     // e^r − 1
};
inline ReducedExp reduce_exp(float x) {
  constexpr float kRound = 0x1.8p23F, kLog2e = 0x1.715476p0F, kLn2High = 0x1.62e4p-1F, kLn2Low = 0x1.7f7d1cp-20F;
  const float shifted = std::fma(x, kLog2e, kRound);
  const float n = shifted - kRound;
  const float r = std::fma(n, -kLn2Low, std::fma(n, -kLn2High, x));
  float p = 0.001388250500895083F;
  p = std::fma(p, r, 0.00836664717644453F);
  p = std::fma(p, r, 0.04166720435023308F);
  p = std::fma(p, r, 0.16666541993618011F);
  p = std::fma(p, r, 0.4999999701976776F);
  return {std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kRound), std::fma(r * r, p, r)};
}

// 2^n for −126 ≤ n ≤ 127.
inline float power_of_two(uint32_t n) { return std::bit_cast<float>((n + 127U) << 23); }

/// e^x. At most 1.02 ulp; overflow gives inf. Results below 2^−125 are 0: a masked score of −inf must not cost the hundred cycles
/// that a product with a subnormal result takes.
inline float exp(float x) {
  constexpr float kSmallest = -0x1.5a92d6p6F;  // the smallest x with e^x ≥ 2^−125
  float inside = 89.0F < x ? 89.0F : x;        // e^89 overflows; NaN passes all selects
  inside = kSmallest > inside ? kSmallest : inside;
  const auto [n, q] = reduce_exp(inside);
  const float value = std::fma(2.0F, q, 2.0F) * power_of_two(n - 1U);  // n may be 128
  return x < kSmallest ? 0.0F : value;
}

/// ln x. At most 0.9 ulp, subnormal x included; ln 0 = −inf, NaN below 0.
inline float log(float x) {
  constexpr float kLn2High = 0x1.62e4p-1F, kLn2Low = 0x1.7f7d1cp-20F;
  const bool tiny = x < 0x1p-126F;
  const float normal = tiny ? x * 0x1p23F : x;
  const uint32_t bits = std::bit_cast<uint32_t>(normal);
  const uint32_t shift = bits - 0x3f3504f3U;  // √½: mantissa into [√½, √2)
  const int32_t exponent = static_cast<int32_t>(shift) >> 23;
  const float n = static_cast<float>(exponent - (tiny ? 23 : 0));
  const float f = std::bit_cast<float>(bits - (static_cast<uint32_t>(exponent) << 23)) - 1.0F;
  float p = -0.07634474337100983F;
  p = std::fma(p, f, 0.1276155412197113F);
  p = std::fma(p, f, -0.13160181045532227F);
  p = std::fma(p, f, 0.14201763272285461F);
  p = std::fma(p, f, -0.1662335842847824F);
  p = std::fma(p, f, 0.20001226663589478F);
  p = std::fma(p, f, -0.2500081956386566F);
  p = std::fma(p, f, 0.3333333134651184F);
  const float square = f * f;
  const float tail = std::fma(square * f, p, std::fma(square, -0.5F, n * kLn2Low));  // ln(1+f) = f − f²/2 + f³·p
  const float value = std::fma(n, kLn2High, f + tail);
  constexpr float kInf = __builtin_inff(), kNan = __builtin_nanf("");
  float result = x > 0x1.fffffep127F ? kInf : value;
  result = x == 0.0F ? -kInf : result;
  return x >= 0.0F ? result : kNan;
}

/// tanh x = (e^2|x| − 1) / (e^2|x| + 1), with the sign of x. At most 2.5 ulp; ±1 exactly from |x| = 9.02 on.
inline float tanh(float x) {
  const float a = std::fabs(x);
  const auto [n, q] = reduce_exp(2.0F * (10.0F < a ? 10.0F : a));
  const float scale = power_of_two(n);
  const float e = std::fma(scale, q, scale - 1.0F);  // e^2|x| − 1 without cancellation
  return std::copysign(e / (e + 2.0F), x);
}

/// 1 / (1 + e^−x), from e^−|x|, which cannot overflow. At most 2.4 ulp; 0 below 2^−125.
inline float sigmoid(float x) {
  const float e = exp(-std::fabs(x));
  return (x < 0.0F ? e : 1.0F) / (1.0F + e);
}

/// erf x. At most 1.2 ulp; ±1 exactly from |x| = 4 on. Below 0.92 x + x·P(x²), above 1 − exp(−t·(1 + Q(t))) with t = |x|.
inline float erf(float x) {
  const float t = std::fabs(x);
  const float square = x * x;
  float small = -0.0005999412387609482F;
  small = std::fma(small, square, 0.0049948315136134624F);
  small = std::fma(small, square, -0.02676772139966488F);
  small = std::fma(small, square, 0.11281845718622208F);
  small = std::fma(small, square, -0.3761249780654907F);
  small = std::fma(small, square, 0.12837915122509003F);
  small = std::fma(small, x, x);
  const float inside = 4.0F < t ? 4.0F : t;  // erfc 4 = 1.5e-8: less than half an ulp of 1
  float large = -0.000214594547287561F;
  large = std::fma(large, inside, 0.003219971898943186F);
  large = std::fma(large, inside, -0.022906020283699036F);
  large = std::fma(large, inside, 0.10528683662414551F);
  large = std::fma(large, inside, 0.6356993913650513F);
  large = std::fma(large, inside, 0.1285199522972107F);
  large = 1.0F - exp(-std::fma(large, inside, inside));
  return t > 0.92F ? std::copysign(large, x) : small;
}

inline double exp(double x) { return std::exp(x); }
inline double log(double x) { return std::log(x); }
inline double tanh(double x) { return std::tanh(x); }
inline double erf(double x) { return std::erf(x); }
inline double sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

}  // namespace ringlet::kernels
