// The sum of squares, exactly. x = ±m·2^(e − 150) with a mantissa m < 2^24 and a biased exponent 1 ≤ e < 255. With e = 16w + s, s < 16:
//   x² = m²·2^(2s) · 2^(32w − 300)
// so limb w of a long number, and the two above it, take the square as it is. Whole numbers may be added in any order.
#pragma once

#include <cstdint>

namespace ringlet::kernels {

/// Limb k counts 2^(32k − 300), 300 = 2·150 being the exponent of the square of the least subnormal's unit.
inline constexpr int kSquareLimbs = 19;
/// Elements in a block. One that holds an infinity or a NaN adds nothing but their number.
inline constexpr int64_t kSquareBlock = 1024;

/// Σ x² = Σ_k limbs[k]·2^(32k − 300). A limb may exceed 32 bits; it stays below 2^64 for 2^42 elements.
struct SquareLimbs {
  uint64_t limbs[kSquareLimbs];
  uint64_t infinities, nans;
};

/// *sum += Σ_i x_i², of f32 or bf16. About 0.5 ns per element of f32.
template <typename T>
void square_sum(const T* x, int64_t n, SquareLimbs* sum);

}  // namespace ringlet::kernels
