#include "tensor/base/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tensor/base/hash.h"
#include "tensor/base/philox.h"

namespace ringlet {
namespace {

// Sixteen consecutive blocks side by side, which the compiler turns into vectors: word[w][i] of block counter_low + i.
constexpr uint32_t kSideBySide = 16;
struct PhiloxBatch {
  uint32_t word[4][kSideBySide];
};
void philox_batch(uint64_t key, uint64_t counter_high, uint64_t counter_low, PhiloxBatch& batch) {
  const uint32_t low = static_cast<uint32_t>(counter_low), above = static_cast<uint32_t>(counter_low >> 32);
  const uint32_t high = static_cast<uint32_t>(counter_high), highest = static_cast<uint32_t>(counter_high >> 32);
  for (uint32_t i = 0; i < kSideBySide; ++i) {
    const uint32_t sum = low + i;
    const PhiloxWords words = philox_rounds({sum, above + (sum < low ? 1U : 0U), high, highest}, key);
    batch.word[0][i] = words.a;
    batch.word[1][i] = words.b;
    batch.word[2][i] = words.c;
    batch.word[3][i] = words.d;
  }
}

// Box & Muller (1958): two words make one uniform of 53 bits, two uniforms make a pair of normals.
struct NormalPair {
  double radius, angle;
  double even() const { return radius * std::cos(angle); }
  double odd() const { return radius * std::sin(angle); }
};
NormalPair normal_pair(const std::array<uint32_t, 4>& w) {
  const auto join = [](uint32_t high, uint32_t low) { return (static_cast<uint64_t>(high) << 32 | low) >> 11; };
  const double u = static_cast<double>(join(w[0], w[1]) + 1) * 0x1p-53;  // in (0, 1]: log(u) is finite
  const double v = static_cast<double>(join(w[2], w[3])) * 0x1p-53;
  return {std::sqrt(-2.0 * std::log(u)), 2.0 * std::numbers::pi * v};
}

}  // namespace

std::array<uint32_t, 4> philox(uint64_t key, uint64_t counter_high, uint64_t counter_low) {
  const PhiloxWords w = philox_rounds(philox_counter(counter_high, counter_low), key);
  return {w.a, w.b, w.c, w.d};
}

RandomStream::RandomStream(uint64_t seed, std::string_view purpose, StreamIndex index)
    : key_(hash_text(purpose, mix64(seed))), index_(index) {}

uint32_t RandomStream::bits(uint64_t i) const { return philox(key_, index_.value, i / 4)[i % 4]; }

float RandomStream::uniform(uint64_t i) const { return uniform_of(bits(i)); }

void RandomStream::uniforms(uint64_t first, std::span<float> out) const {
  size_t skip = first % 4;
  uint64_t block = first / 4;
  PhiloxBatch batch;
  float number[4 * kSideBySide];
  for (size_t done = 0; done < out.size(); block += kSideBySide, skip = 0) {
    philox_batch(key_, index_.value, block, batch);
    for (size_t i = 0; i < kSideBySide; ++i) {
      for (size_t w = 0; w < 4; ++w) {
        number[4 * i + w] = uniform_of(batch.word[w][i]);
      }
    }
    const size_t count = std::min(4 * kSideBySide - skip, out.size() - done);
    std::copy_n(number + skip, count, out.data() + done);
    done += count;
  }
}

void RandomStream::normals(uint64_t first, std::span<double> out) const {
  for (size_t done = 0; done < out.size();) {
    const uint64_t i = first + done;
    const NormalPair pair = normal_pair(philox(key_, index_.value, i / 2));
    if (i % 2 == 0) {
      out[done++] = pair.even();
    }
    if (done < out.size()) {
      out[done++] = pair.odd();
    }
  }
}

double RandomStream::normal(uint64_t i) const {
  const NormalPair pair = normal_pair(philox(key_, index_.value, i / 2));
  return i % 2 == 0 ? pair.even() : pair.odd();
}

uint64_t RandomStream::below(uint64_t i, uint64_t n) const {
  const auto w = philox(key_, index_.value, i / 2);
  const uint64_t word = static_cast<uint64_t>(w[2 * (i % 2)]) << 32 | w[2 * (i % 2) + 1];
  __extension__ using Word128 = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Word128>(word) * n) >> 64);
}

}  // namespace ringlet
