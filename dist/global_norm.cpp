// x = ±m·2^(e − 150) with a mantissa m < 2^24 and a biased exponent 1 ≤ e < 255. With e = 16w + s, s < 16:
//   x² = m²·2^(2s) · 2^(32w − 300)
// All x of one window w add up in two words: (m² mod 2^24)·2^(2s) and (m² div 2^24)·2^(2s) are below 2^54, so 1,024 of each fit
// into 64 bits. A block is read once per window between its least and its largest element: gradients and weights span
// two or three windows of 2^16 each. The loops are plain integer arithmetic, which compilers turn into vectors.
#include "dist/global_norm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "collectives/control_scope.h"
#include "dist/collective_ops.h"
#include "tensor/ops/reduce.h"

namespace ringlet {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr size_t kBlock = 1024;
constexpr uint32_t kInfinity = 0x7f800000U;

uint32_t magnitude_bits(float x) { return std::bit_cast<uint32_t>(x) & 0x7fffffffU; }
uint32_t exponent_of(uint32_t bits) { return bits >> 23 > 1 ? bits >> 23 : 1; }  // subnormals share the least exponent
uint32_t window_of(uint32_t bits) { return exponent_of(bits) / 16; }

}  // namespace

void SquareSum::add(const Tensor& x) {
  if (x.dtype() == DType::F64) {
    wide_ += squared_norm(x);
    return;
  }
  check(x.dtype() == DType::F32 || x.dtype() == DType::BF16, "norm: needs f32, bf16 or f64, got {}", x.dtype());
  const Tensor single = x.dtype() == DType::F32 ? x : x.to(DType::F32);
  const std::span<const float> all = single.span<float>();
  for (size_t begin = 0; begin < all.size(); begin += kBlock) {
    add_block(all.subspan(begin, std::min(kBlock, all.size() - begin)));
  }
}

void SquareSum::add_block(std::span<const float> x) {
  uint32_t largest = 0, least = ~0U;  // of the magnitudes; zeros, which wrap around, do not count for the least
  for (const float value : x) {
    const uint32_t bits = magnitude_bits(value);
    largest = bits > largest ? bits : largest;
    least = bits - 1 < least ? bits - 1 : least;
  }
  if (largest >= kInfinity) {
    for (const float value : x) {
      infinities_ += magnitude_bits(value) == kInfinity ? 1 : 0;
      nans_ += magnitude_bits(value) > kInfinity ? 1 : 0;
    }
    return;  // the sum has lost its meaning
  }
  for (uint32_t window = window_of(least + 1); largest > 0 && window <= window_of(largest); ++window) {
    add_window(x, window);
  }
}

void SquareSum::add_window(std::span<const float> x, uint32_t window) {
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
    limbs_[k] += static_cast<uint64_t>(sum & 0xffffffffU);
  }
}

// Afterwards every limb is below 2^32. They stay far from 2^64 for 2^42 elements without it.
void SquareSum::carry() {
  uint64_t over = 0;
  for (uint64_t& limb : limbs_) {
    limb += over;
    over = limb >> 32;
    limb &= 0xffffffffU;
  }
}

std::array<double, SquareSum::kWords> SquareSum::words() const {
  SquareSum sum = *this;
  sum.carry();
  std::array<double, kWords> words{};
  for (size_t k = 0; k < kLimbs; ++k) {
    words[k] = static_cast<double>(sum.limbs_[k]);
  }
  words[kLimbs] = static_cast<double>(infinities_);
  words[kLimbs + 1] = static_cast<double>(nans_);
  words[kLimbs + 2] = wide_;
  return words;
}

SquareSum SquareSum::from_words(std::span<const double, kWords> words) {
  SquareSum sum;
  for (size_t k = 0; k < kLimbs; ++k) {
    sum.limbs_[k] = static_cast<uint64_t>(words[k]);
  }
  sum.infinities_ = static_cast<int64_t>(words[kLimbs]);
  sum.nans_ = static_cast<int64_t>(words[kLimbs + 1]);
  sum.wide_ = words[kLimbs + 2];
  return sum;
}

double SquareSum::norm() const {
  if (nans_ > 0 || std::isnan(wide_)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (infinities_ > 0) {
    return std::numeric_limits<double>::infinity();
  }
  SquareSum sum = *this;
  sum.carry();
  int top = kLimbs - 1;
  while (top > 2 && sum.limbs_[static_cast<size_t>(top)] == 0) {
    --top;
  }
  // The three highest limbs hold at least 65 bits of the sum; any bit below them decides a tie, so it is remembered in the
  // last.
  Wide highest = 0;
  for (int k = top; k >= top - 2; --k) {
    highest = (highest << 32) | sum.limbs_[static_cast<size_t>(k)];
  }
  for (int k = top - 3; k >= 0; --k) {
    highest |= sum.limbs_[static_cast<size_t>(k)] != 0 ? 1U : 0U;
  }
  return std::sqrt(std::ldexp(static_cast<double>(highest), 32 * (top - 2) - 300) + wide_);
}

double global_norm(std::span<const Tensor> tensors) {
  SquareSum sum;
  for (const Tensor& tensor : tensors) {
    sum.add(tensor);
  }
  return sum.norm();
}

double global_norm(Communicator& comm, std::span<const Tensor> shards) {
  SquareSum sum;
  for (const Tensor& shard : shards) {
    sum.add(shard);
  }
  std::array<double, SquareSum::kWords> words = sum.words();
  const ControlScope control(comm);
  comm.all_reduce(words, ReduceOp::Sum);
  return SquareSum::from_words(words).norm();
}

}  // namespace ringlet
