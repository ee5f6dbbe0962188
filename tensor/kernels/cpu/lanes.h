// One register of numbers, as wide as the build's CPU level has them: 64, 32 or 16 bytes. Only the kernels that must hold a tile
// in registers use it; all others are plain loops that the compiler vectorises.
#pragma once

#include <cmath>
#include <cstdint>

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
#include <immintrin.h>
#endif

namespace ringlet::kernels {

template <typename T>
struct Lanes;

#if defined(__AVX512F__)

template <>
struct Lanes<float> {
  static constexpr int64_t kWidth = 16;
  __m512 v;
  static Lanes load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static Lanes broadcast(float x) { return {_mm512_set1_ps(x)}; }
  void store(float* p) const { _mm512_storeu_ps(p, v); }
  static Lanes fma(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
};

template <>
struct Lanes<double> {
  static constexpr int64_t kWidth = 8;
  __m512d v;
  static Lanes load(const double* p) { return {_mm512_loadu_pd(p)}; }
  static Lanes broadcast(double x) { return {_mm512_set1_pd(x)}; }
  void store(double* p) const { _mm512_storeu_pd(p, v); }
  static Lanes fma(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_pd(a.v, b.v, c.v)}; }
};

inline constexpr int kTileRows = 8;  // 8 x 2 registers of sums, of 32

#elif defined(__AVX2__) && defined(__FMA__)

template <>
struct Lanes<float> {
  static constexpr int64_t kWidth = 8;
  __m256 v;
  static Lanes load(const float* p) { return {_mm256_loadu_ps(p)}; }
  static Lanes broadcast(float x) { return {_mm256_set1_ps(x)}; }
  void store(float* p) const { _mm256_storeu_ps(p, v); }
  static Lanes fma(Lanes a, Lanes b, Lanes c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
};

template <>
struct Lanes<double> {
  static constexpr int64_t kWidth = 4;
  __m256d v;
  static Lanes load(const double* p) { return {_mm256_loadu_pd(p)}; }
  static Lanes broadcast(double x) { return {_mm256_set1_pd(x)}; }
  void store(double* p) const { _mm256_storeu_pd(p, v); }
  static Lanes fma(Lanes a, Lanes b, Lanes c) { return {_mm256_fmadd_pd(a.v, b.v, c.v)}; }
};

inline constexpr int kTileRows = 6;  // 6 x 2 registers of sums, of 16

#else

// Any CPU: the same chain of fused multiply-adds, so the same bits, at the speed of the C library's fma.
template <typename T>
struct Lanes {
  static constexpr int64_t kWidth = 16 / sizeof(T);
  T v[kWidth];
  static Lanes load(const T* p) {
    Lanes x;
    for (int64_t i = 0; i < kWidth; ++i) x.v[i] = p[i];
    return x;
  }
  static Lanes broadcast(T value) {
    Lanes x;
    for (T& lane : x.v) lane = value;
    return x;
  }
  void store(T* p) const {
    for (int64_t i = 0; i < kWidth; ++i) p[i] = v[i];
  }
  static Lanes fma(Lanes a, Lanes b, Lanes c) {
    for (int64_t i = 0; i < kWidth; ++i) c.v[i] = std::fma(a.v[i], b.v[i], c.v[i]);
    return c;
  }
};

inline constexpr int kTileRows = 4;

#endif

}  // namespace ringlet::kernels
