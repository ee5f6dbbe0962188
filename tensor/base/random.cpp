#include "tensor/base/random.h"

#include <cmath>
#include <numbers>

#include "tensor/base/hash.h"

namespace ringlet {
namespace {

constexpr uint32_t kMultiplier0 = 0xD2511F53U, kMultiplier1 = 0xCD9E8D57U;  // constants of the paper
constexpr uint32_t kWeyl0 = 0x9E3779B9U, kWeyl1 = 0xBB67AE85U;

// Sixteen blocks side by side, which the compiler turns into vectors: words[i] of block counter_low + i.
constexpr int kSideBySide = 16;
struct PhiloxBatch {
  uint32_t word[4][kSideBySide];
};
PhiloxBatch philox_batch(uint64_t key, uint64_t counter_high, uint64_t counter_low) {
  PhiloxBatch c;
  for (int i = 0; i < kSideBySide; ++i) {
    const uint64_t low = counter_low + static_cast<uint64_t>(i);
    c.word[0][i] = static_cast<uint32_t>(low);
    c.word[1][i] = static_cast<uint32_t>(low >> 32);
    c.word[2][i] = static_cast<uint32_t>(counter_high);
    c.word[3][i] = static_cast<uint32_t>(counter_high >> 32);
  }
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kSideBySide; ++i) {
      const uint64_t p0 = static_cast<uint64_t>(kMultiplier0) * c.word[0][i];
      const uint64_t p1 = static_cast<uint64_t>(kMultiplier1) * c.word[2][i];
      c.word[0][i] = static_cast<uint32_t>(p1 >> 32) ^ c.word[1][i] ^ k0;
      c.word[1][i] = static_cast<uint32_t>(p1);
      c.word[2][i] = static_cast<uint32_t>(p0 >> 32) ^ c.word[3][i] ^ k1;
      c.word[3][i] = static_cast<uint32_t>(p0);
    }
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return c;
}

float uniform_of(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24F; }

}  // namespace

std::array<uint32_t, 4> philox(uint64_t key, uint64_t counter_high, uint64_t counter_low) {
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(counter_low), static_cast<uint32_t>(counter_low >> 32),
                               static_cast<uint32_t>(counter_high), static_cast<uint32_t>(counter_high >> 32)};
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(kMultiplier0) * c[0];
    const uint64_t p1 = static_cast<uint64_t>(kMultiplier1) * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1), static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1,
         static_cast<uint32_t>(p0)};
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return c;
}

RandomStream::RandomStream(uint64_t seed, std::string_view purpose, uint64_t index)
    : key_(hash_text(purpose, mix64(seed))), index_(index) {}

uint32_t RandomStream::bits(uint64_t i) const { return philox(key_, index_, i / 4)[i % 4]; }

float RandomStream::uniform(uint64_t i) const { return uniform_of(bits(i)); }

void RandomStream::uniforms(uint64_t first, std::span<float> out) const {
  size_t skip = first % 4;
  uint64_t block = first / 4;
  for (size_t done = 0; done < out.size(); block += kSideBySide, skip = 0) {
    const PhiloxBatch batch = philox_batch(key_, index_, block);
    for (size_t i = skip; i < 4 * kSideBySide && done < out.size(); ++i) {
      out[done++] = uniform_of(batch.word[i % 4][i / 4]);
    }
  }
}

double RandomStream::normal(uint64_t i) const {
  // Two words make one uniform of 53 bits; two uniforms make a pair of normals, of which i mod 2 chooses one.
  const auto w = philox(key_, index_, i / 2);
  const auto join = [](uint32_t high, uint32_t low) { return (static_cast<uint64_t>(high) << 32 | low) >> 11; };
  const double u = static_cast<double>(join(w[0], w[1]) + 1) * 0x1p-53;  // in (0, 1]: log(u) is finite
  const double v = static_cast<double>(join(w[2], w[3])) * 0x1p-53;
  const double radius = std::sqrt(-2.0 * std::log(u)), angle = 2.0 * std::numbers::pi * v;
  return radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

uint64_t RandomStream::below(uint64_t i, uint64_t n) const {
  const auto w = philox(key_, index_, i / 2);
  const uint64_t word = static_cast<uint64_t>(w[2 * (i % 2)]) << 32 | w[2 * (i % 2) + 1];
  __extension__ using Word128 = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Word128>(word) * n) >> 64);
}

}  // namespace ringlet
