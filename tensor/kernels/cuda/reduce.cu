#include "tensor/kernels/cuda/reduce.h"

#include <bit>

#include "tensor/kernels/cuda/column_reduce.cuh"
#include "tensor/kernels/cuda/row_reduce.cuh"

namespace ringlet::kernels::cuda {
namespace {

template <typename A>
struct Sum {
  using Value = A;
  __device__ static A identity() { return A(0); }
  __device__ A operator()(A a, A b) const { return a + b; }
};

template <typename A>
struct Max {
  using Value = A;
  __device__ static A identity() { return -kInfinity<A>; }
  __device__ A operator()(A a, A b) const { return larger(a, b); }
};

struct All {
  using Value = int32_t;
  __device__ static int32_t identity() { return 1; }
  __device__ int32_t operator()(int32_t a, int32_t b) const { return a & b; }
};

struct Widen {
  template <typename T>
  __device__ Accumulator<T> operator()(T x) const {
    return wide(x);
  }
};

struct SquareInDouble {
  template <typename T>
  __device__ double operator()(T x) const {
    return static_cast<double>(x) * static_cast<double>(x);
  }
};

// An exponent of ones is inf or NaN: bits, which no flag of a compiler can make finite by assumption.
struct IsFinite {
  __device__ int32_t operator()(float x) const { return (std::bit_cast<uint32_t>(x) & 0x7f800000U) != 0x7f800000U; }
  __device__ int32_t operator()(bf16 x) const { return (x.bits & 0x7f80U) != 0x7f80U; }
  __device__ int32_t operator()(double x) const {
    constexpr uint64_t kExponent = 0x7ff0000000000000ULL;
    return (std::bit_cast<uint64_t>(x) & kExponent) != kExponent;
  }
};

template <typename T>
struct Element {
  const T* x;
  int64_t n, inner;
  __device__ Accumulator<T> operator()(int64_t o, int64_t r, int64_t c) const { return wide(x[(o * n + r) * inner + c]); }
};

template <typename T>
struct StoreNarrow {
  T* y;
  __device__ void operator()(int64_t i, Accumulator<T> total) const { y[i] = static_cast<T>(total); }
};

template <typename T, typename Join>
void reduce(const T* x, T* y, int64_t outer, int64_t n, int64_t inner, Join join) {
  if (inner == 1) {
    reduce_rows(x, y, outer, n, Widen{}, join);
  } else {
    reduce_columns(outer, n, inner, Element<T>{x, n, inner}, join, StoreNarrow<T>{y});
  }
}

}  // namespace

template <typename T>
void sum(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) {
  reduce(x, y, outer, n, inner, Sum<Accumulator<T>>{});
}

template <typename T>
void max(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) {
  reduce(x, y, outer, n, inner, Max<Accumulator<T>>{});
}

template <typename T>
void squared_norm(const T* x, int64_t n, double* y) {
  reduce_rows(x, y, 1, n, SquareInDouble{}, Sum<double>{});
}

template <typename T>
void all_finite(const T* x, int64_t n, int32_t* y) {
  reduce_rows(x, y, 1, n, IsFinite{}, All{});
}

#define RINGLET_INSTANTIATE(T)                                \
  template void sum(const T*, T*, int64_t, int64_t, int64_t); \
  template void max(const T*, T*, int64_t, int64_t, int64_t); \
  template void squared_norm(const T*, int64_t, double*);     \
  template void all_finite(const T*, int64_t, int32_t*);
RINGLET_INSTANTIATE(float)
RINGLET_INSTANTIATE(double)
RINGLET_INSTANTIATE(bf16)

}  // namespace ringlet::kernels::cuda
