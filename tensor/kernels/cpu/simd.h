// One register of numbers, as wide as the build's CPU level has them: 64, 32 or 16 bytes. Only the kernels that must hold a tile
// in registers use it; all others are plain loops that the compiler vectorises.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
#include <immintrin.h>
#endif

namespace ringlet::kernels {

template <typename T>
struct Simd;

#if defined(__AVX512F__)

template <>
struct Simd<float> {
  static constexpr int64_t kWidth = 16;
  __m512 v;
  static Simd load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static Simd broadcast(float x) { return {_mm512_set1_ps(x)}; }
  void store(float* p) const { _mm512_storeu_ps(p, v); }
  // Only the first n lanes: nothing behind them is read (they become 0) or written.
  static Simd load_first(const float* p, int64_t n) { return {_mm512_maskz_loadu_ps(first(n), p)}; }
  void store_first(float* p, int64_t n) const { _mm512_mask_storeu_ps(p, first(n), v); }
  static __mmask16 first(int64_t n) { return static_cast<__mmask16>((1U << n) - 1U); }
  static Simd fma(Simd a, Simd b, Simd c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
};

template <>
struct Simd<double> {
  static constexpr int64_t kWidth = 8;
  __m512d v;
  static Simd load(const double* p) { return {_mm512_loadu_pd(p)}; }
  static Simd broadcast(double x) { return {_mm512_set1_pd(x)}; }
  void store(double* p) const { _mm512_storeu_pd(p, v); }
  static Simd load_first(const double* p, int64_t n) { return {_mm512_maskz_loadu_pd(first(n), p)}; }
  void store_first(double* p, int64_t n) const { _mm512_mask_storeu_pd(p, first(n), v); }
  static __mmask8 first(int64_t n) { return static_cast<__mmask8>((1U << n) - 1U); }
  static Simd fma(Simd a, Simd b, Simd c) { return {_mm512_fmadd_pd(a.v, b.v, c.v)}; }
};

inline constexpr int kTileRows = 8;  // 8 x 2 registers of sums, of 32

#elif defined(__AVX2__) && defined(__FMA__)

template <>
struct Simd<float> {
  static constexpr int64_t kWidth = 8;
  __m256 v;
  static Simd load(const float* p) { return {_mm256_loadu_ps(p)}; }
  static Simd broadcast(float x) { return {_mm256_set1_ps(x)}; }
  void store(float* p) const { _mm256_storeu_ps(p, v); }
  static Simd load_first(const float* p, int64_t n) { return {_mm256_maskload_ps(p, first(n))}; }
  void store_first(float* p, int64_t n) const { _mm256_maskstore_ps(p, first(n), v); }
  static __m256i first(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static Simd fma(Simd a, Simd b, Simd c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
};

template <>
struct Simd<double> {
  static constexpr int64_t kWidth = 4;
  __m256d v;
  static Simd load(const double* p) { return {_mm256_loadu_pd(p)}; }
  static Simd broadcast(double x) { return {_mm256_set1_pd(x)}; }
  void store(double* p) const { _mm256_storeu_pd(p, v); }
  static Simd load_first(const double* p, int64_t n) { return {_mm256_maskload_pd(p, first(n))}; }
  void store_first(double* p, int64_t n) const { _mm256_maskstore_pd(p, first(n), v); }
  static __m256i first(int64_t n) { return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3)); }
  static Simd fma(Simd a, Simd b, Simd c) { return {_mm256_fmadd_pd(a.v, b.v, c.v)}; }
};

inline constexpr int kTileRows = 6;  // 6 x 2 registers of sums, of 16

#else

// Any CPU: the same chain of fused multiply-adds, so the same bits, at the speed of the C library's fma.
template <typename T>
struct Simd {
  static constexpr int64_t kWidth = 16 / sizeof(T);
  T v[kWidth];
  static Simd load(const T* p) {
    Simd x;
    for (int64_t i = 0; i < kWidth; ++i) x.v[i] = p[i];
    return x;
  }
  static Simd broadcast(T value) {
    Simd x;
    for (T& lane : x.v) lane = value;
    return x;
  }
  void store(T* p) const {
    for (int64_t i = 0; i < kWidth; ++i) p[i] = v[i];
  }
  static Simd load_first(const T* p, int64_t n) {
    Simd x;
    for (int64_t i = 0; i < kWidth; ++i) x.v[i] = i < n ? p[i] : T{0};
    return x;
  }
  void store_first(T* p, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) p[i] = v[i];
  }
  static Simd fma(Simd a, Simd b, Simd c) {
    for (int64_t i = 0; i < kWidth; ++i) c.v[i] = std::fma(a.v[i], b.v[i], c.v[i]);
    return c;
  }
};

inline constexpr int kTileRows = 4;

#endif

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))

// Of a pair of rows, S apart, the off-diagonal S x S squares change places.
template <int S, typename V, int... J>
void exchange_squares(V& upper, V& lower, std::integer_sequence<int, J...>) {
  constexpr int W = sizeof...(J);
  const V top = __builtin_shufflevector(upper, lower, ((J & S) != 0 ? W + J - S : J)...);
  lower = __builtin_shufflevector(upper, lower, ((J & S) != 0 ? W + J : J + S)...);
  upper = top;
}

// In log2(kWidth) rounds of exchanges of squares 1, 2, 4, … wide.
template <typename T, int S = 1>
void transpose_rows(Simd<T> (&rows)[Simd<T>::kWidth]) {
  constexpr int W = Simd<T>::kWidth;
  if constexpr (S < W) {
    for (int i = 0; i < W; ++i) {
      if ((i & S) == 0) exchange_squares<S>(rows[i].v, rows[i + S].v, std::make_integer_sequence<int, W>());
    }
    transpose_rows<T, 2 * S>(rows);
  }
}

/// to[k·to_stride + j] = from[j·from_stride + k] for j, k < kWidth.
template <typename T>
void transpose_square(const T* from, int64_t from_stride, T* to, int64_t to_stride) {
  Simd<T> rows[Simd<T>::kWidth];
  for (int64_t i = 0; i < Simd<T>::kWidth; ++i) rows[i] = Simd<T>::load(from + i * from_stride);
  transpose_rows<T>(rows);
  for (int64_t i = 0; i < Simd<T>::kWidth; ++i) rows[i].store(to + i * to_stride);
}

#else

template <typename T>
void transpose_square(const T* from, int64_t from_stride, T* to, int64_t to_stride) {
  for (int64_t j = 0; j < Simd<T>::kWidth; ++j) {
    for (int64_t k = 0; k < Simd<T>::kWidth; ++k) to[k * to_stride + j] = from[j * from_stride + k];
  }
}

#endif

}  // namespace ringlet::kernels
