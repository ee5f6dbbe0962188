// All x of one window w add up in two words: (m² mod 2^24)·2^(2s) and (m² div 2^24)·2^(2s) are below 2^54, so 1,024 of each fit
// into 64 bits. A block is read once per window between its least and its largest element: gradients and weights span
// two or three windows of 2^16 each. The loops are plain integer arithmetic, which compilers turn into vectors.
#include "tensor/kernels/cpu/square_sum.h"

#include <algorithm>
#include <bit>
#include <span>

#include "tensor/base/bf16.h"

namespace ringlet::kernels {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr uint32_t kInfinity = 0x7f800000U;

uint32_t magnitude_bits(float x) { return std::bit_cast<uint32_t>(x) & 0x7fffffffU; }
uint32_t exponent_of(uint32_t bits) { return bits >> 23 > 1 ? bits >> 23 : 1; }  // subnormals share the least exponent
uint32_t window_of(uint32_t bits) { return exponent_of(bits) / 16; }

void add_window(std::span<const float> x, uint32_t window, SquareLimbs* to) {
  uint64_t low = 0, high = 0;
  for (const float value : x) {
    const uint32_t bits = magnitude_bits(value);
    const uint32_t normal = bits >> 23 != 0 ? 0x800000U : 0U;  // the leading one, which is not stored
    const uint32_t m = window_of(bits) == window ? (bits & 0x7fffffU) | normal : 0U;
    const uint64_t square = static_cast<uint64_t>(m) * m;
    const uint32_t shift = 2 * (exponent_of(bits) & 15U);
    low += (square & 0xffffffU) << shift;
    high += (square >> 24) << shift;
  }
  Wide sum = static_cast<Wide>(low) + (static_cast<Wide>(high) << 24);
  for (size_t k = window; sum != 0; ++k, sum >>= 32) {
    to->limbs[k] += static_cast<uint64_t>(sum & 0xffffffffU);
  }
}

void add_block(std::span<const float> x, SquareLimbs* to) {
  uint32_t largest = 0, least = ~0U;  // of the magnitudes; zeros, which wrap around, do not count for the least
  for (const float value : x) {
    const uint32_t bits = magnitude_bits(value);
    largest = bits > largest ? bits : largest;
    least = bits - 1 < least ? bits - 1 : least;
  }
  if (largest >= kInfinity) {
    for (const float value : x) {
      to->infinities += magnitude_bits(value) == kInfinity ? 1 : 0;
      to->nans += magnitude_bits(value) > kInfinity ? 1 : 0;
    }
    return;  // the sum has lost its meaning
  }
  for (uint32_t window = window_of(least + 1); largest > 0 && window <= window_of(largest); ++window) {
    add_window(x, window, to);
  }
}

}  // namespace

template <typename T>
void square_sum(const T* x, int64_t n, SquareLimbs* sum) {
  [[maybe_unused]] float single[kSquareBlock];
  for (int64_t begin = 0; begin < n; begin += kSquareBlock) {
    const auto length = static_cast<size_t>(std::min(kSquareBlock, n - begin));
    if constexpr (sizeof(T) == sizeof(float)) {
      add_block({x + begin, length}, sum);
    } else {
      std::transform(x + begin, x + begin + length, single, [](T value) { return static_cast<float>(value); });
      add_block({single, length}, sum);
    }
  }
}

template void square_sum(const float*, int64_t, SquareLimbs*);
template void square_sum(const bf16*, int64_t, SquareLimbs*);

}  // namespace ringlet::kernels
