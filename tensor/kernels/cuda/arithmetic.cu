#include "tensor/kernels/cuda/arithmetic.h"

#include "tensor/kernels/cuda/map.cuh"

namespace ringlet::kernels::cuda {
namespace {

// clang-format off
struct Sum { template <typename A> __device__ A operator()(A a, A b) const { return a + b; } };
struct Difference { template <typename A> __device__ A operator()(A a, A b) const { return a - b; } };
struct Product { template <typename A> __device__ A operator()(A a, A b) const { return a * b; } };
struct Quotient { template <typename A> __device__ A operator()(A a, A b) const { return a / b; } };
// clang-format on

// a ∘ c for a number c.
template <typename F, typename A>
struct With {
  F f;
  A c;
  __device__ A operator()(A a) const { return f(a, c); }
};

template <typename Call>
void with_operation(Arithmetic op, Call&& call) {
  switch (op) {
    case Arithmetic::Add: return call(Sum{});
    case Arithmetic::Subtract: return call(Difference{});
    case Arithmetic::Multiply: return call(Product{});
    case Arithmetic::Divide: return call(Quotient{});
  }
}

}  // namespace

template <typename T>
void arithmetic(Arithmetic op, const Runs& runs, T* y, const T* a, const T* b) {
  with_operation(op, [&](auto f) { map(runs, y, a, b, f); });
}

template <typename T>
void arithmetic_into(Arithmetic op, const Runs& runs, T* y, const T* b) {
  cuda::arithmetic<T>(op, runs, y, y, b);
}

template <typename T>
void arithmetic_number(Arithmetic op, const Runs& runs, T* y, const T* a, T c) {
  using A = Accumulator<T>;
  with_operation(op, [&]<typename F>(F f) { map(runs, y, a, With<F, A>{f, static_cast<A>(c)}); });
}

template <typename T>
void arithmetic_number_into(Arithmetic op, const Runs& runs, T* y, T c) {
  cuda::arithmetic_number<T>(op, runs, y, y, c);
}

#define RINGLET_INSTANTIATE(T)                                               \
  template void arithmetic(Arithmetic, const Runs&, T*, const T*, const T*); \
  template void arithmetic_into(Arithmetic, const Runs&, T*, const T*);      \
  template void arithmetic_number(Arithmetic, const Runs&, T*, const T*, T); \
  template void arithmetic_number_into(Arithmetic, const Runs&, T*, T);
RINGLET_INSTANTIATE(float)
RINGLET_INSTANTIATE(double)
RINGLET_INSTANTIATE(bf16)

}  // namespace ringlet::kernels::cuda
