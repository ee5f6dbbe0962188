// Counter-based randomness: a random number is a pure function of (seed, what it is for, element index). There is no hidden
// state to save, restore or hand out: the same full tensor comes out at every world size and in every sharding, and a
// dropout mask is the same when it is recomputed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace ringlet {

/// Four random words for a 128-bit counter under a 64-bit key: ten rounds of Philox (philox.h). Passes BigCrush; about 5 ns.
std::array<uint32_t, 4> philox(uint64_t key, uint64_t counter_high, uint64_t counter_low);

/// Which of a purpose's streams: a number, or, for work that a device repeats (Gpu::record), one that its kernels read at `at`, in its
/// memory, when they come to it. The functions below that draw on the host know the number alone.
struct StreamIndex {
  StreamIndex(uint64_t number = 0, const uint64_t* on_device = nullptr)  // NOLINT(google-explicit-constructor): it is a number
      : value(number), at(on_device) {}
  uint64_t value;
  const uint64_t* at;
};

/// A family of independent numbers, one per element index.
class RandomStream {
 public:
  /// `purpose` says what the numbers are for ("init/h.0.mlp.c_fc.weight", "dropout/h.0.attn"); streams of different
  /// purposes, seeds or `index` (a step, a micro-batch) are independent.
  RandomStream(uint64_t seed, std::string_view purpose, StreamIndex index = 0);

  /// 32 random bits for element `i`: word i mod 4 of block i / 4.
  uint32_t bits(uint64_t i) const;
  /// Uniform in [0, 1), a multiple of 2^-24.
  float uniform(uint64_t i) const;
  /// out[i] = uniform(first + i), two to three times as fast.
  void uniforms(uint64_t first, std::span<float> out) const;
  /// Standard normal: Box-Muller on the words of block i / 2, computed in fp64.
  double normal(uint64_t i) const;
  /// out[i] = normal(first + i), twice as fast.
  void normals(uint64_t first, std::span<double> out) const;
  /// Uniform in 0 .. n-1 (n > 0), without bias that could be seen: 64 random bits times n, upper word (Lemire, 2019).
  uint64_t below(uint64_t i, uint64_t n) const;

  /// With these two a kernel draws the numbers itself: word i mod 4 of philox(key, index, i / 4) is bits(i).
  uint64_t key() const { return key_; }
  uint64_t index() const { return index_.value; }
  /// Where a kernel on a device reads the index instead; null: nowhere.
  const uint64_t* index_at() const { return index_.at; }

 private:
  uint64_t key_;
  StreamIndex index_;
};

}  // namespace ringlet
