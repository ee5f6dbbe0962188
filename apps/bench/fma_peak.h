// What one core can do at most: the measure that a percentage of peak is taken of, in the same run on the same noisy machine.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "tensor/kernels/cpu/simd.h"

namespace ringlet {

/// f32 operations per second of one core, a fused multiply-add counted as two: independent chains in registers, best of `repeats`
/// runs of some 100 us each.
inline double measure_fma_peak(int repeats = 50) {
  using kernels::Simd;
  constexpr int kChains = 12;  // more than latency times throughput (4 cycles, 2 per cycle), fewer than registers
  constexpr int kRounds = 20000;
  double best = 0.0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    Simd<float> sum[kChains];
    for (int i = 0; i < kChains; ++i) {
      sum[i] = Simd<float>::broadcast(1.0F + static_cast<float>(i));  // chains of equal values would be computed once
    }
    const Simd<float> a = Simd<float>::broadcast(0.999F), b = Simd<float>::broadcast(0.001F);
    const auto start = std::chrono::steady_clock::now();
    for (int round = 0; round < kRounds; ++round) {
      for (Simd<float>& chain : sum) {
        chain = Simd<float>::fma(chain, a, b);
      }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    float used[Simd<float>::kWidth], total = 0.0F;
    for (const Simd<float>& chain : sum) {
      chain.store(used);
      total += used[0];
    }
    const double operations =
        total > 0.0F ? 2.0 * kChains * Simd<float>::kWidth * kRounds : 0.0;  // reads the sums: they must exist
    best = std::max(best, operations / took.count());
  }
  return best;
}

}  // namespace ringlet
