#include "tensor/kernels/cuda/movement.h"

#include <algorithm>
#include <type_traits>

#include "tensor/kernels/cpu/copy.h"
#include "tensor/kernels/cuda/map.cuh"

namespace ringlet::kernels::cuda {
namespace {

// The three bodies walk as map.cuh says: packs where the operands lie so. A copy that transposes reads one element of each line
// of 32 bytes that it fetches, and lives on the L2 cache.
template <typename To, typename From>
struct Copy {
  To* to;
  const From* from;
  template <int W>
  __device__ void at(const Runs& runs, const Place& place) const {
    const Pack<From, W> in = load_run<W>(from + place.a, runs.a[0], place.count);
    store_run<W>(to + place.y, runs.y[0], place.count, pack_of<To, W>([&](int k) { return convert<To>(in.v[k]); }));
  }
};

template <typename T>
struct Fill {
  T* to;
  T value;
  template <int W>
  __device__ void at(const Runs& runs, const Place& place) const {
    store_run<W>(to + place.y, runs.y[0], place.count, pack_of<T, W>([&](int) { return value; }));
  }
};

template <typename T>
struct MaskedFill {
  T* x;
  const uint8_t* mask;
  T value;
  template <int W>
  __device__ void at(const Runs& runs, const Place& place) const {
    const Pack<uint8_t, W> masked = load_run<W>(mask + place.b, runs.b[0], place.count);
    const Pack<T, W> in = load_run<W>(x + place.y, runs.y[0], place.count);
    store_run<W>(x + place.y, runs.y[0], place.count, pack_of<T, W>([&](int k) { return masked.v[k] != 0 ? value : in.v[k]; }));
  }
};

// Packs are worth a kernel of their own for what training does; integers that change type are moved one by one.
template <typename To, typename From>
void copy(const Runs& runs, To* to, const From* from) {
  constexpr bool kPacks = std::is_same_v<To, From> || (is_floating(dtype_of<To>) && is_floating(dtype_of<From>));
  constexpr int W = std::min(kPackWidth<To>, kPackWidth<From>);
  const Copy<To, From> body{to, from};
  if constexpr (kPacks) {
    const bool fit = runs.y[0] == 1 && packs_fit<W>(runs, runs.y, to) && packs_fit<W>(runs, runs.a, from);
    launch_map<W>(runs, body, fit);
  } else {
    launch_map<1, Walk::Elements>(runs, body);
  }
}

// Shape::contiguous_strides, which is in a library of the host's.
Shape contiguous_strides(const Shape& shape) {
  Shape strides = Shape::filled(shape.rank(), 1);
  for (int i = shape.rank() - 2; i >= 0; --i) {
    strides[i] = strides[i + 1] * shape[i + 1];
  }
  return strides;
}

}  // namespace

void copy_strided(DType to_dtype, void* to, const Shape& to_strides, DType from_dtype, const void* from,
                  const Shape& from_strides, const Shape& shape) {
  const Runs runs = merge_runs(shape, to_strides, from_strides, from_strides);
  dispatch_all(to_dtype, [&]<typename To>() {
    dispatch_all(from_dtype, [&]<typename From>() { copy(runs, static_cast<To*>(to), static_cast<const From*>(from)); });
  });
}

void fill(DType dtype, void* to, const Shape& shape, const Shape& strides, double value) {
  const Runs runs = merge_runs(shape, strides, strides, strides);
  dispatch_all(dtype, [&]<typename T>() {
    constexpr int W = kPackWidth<T>;
    T* out = static_cast<T*>(to);
    launch_map<W>(runs, Fill<T>{out, static_cast<T>(value)}, runs.y[0] == 1 && packs_fit<W>(runs, runs.y, out));
  });
}

template <typename T>
void masked_fill(T* x, const uint8_t* mask, const Shape& mask_strides, const Shape& shape, T value) {
  constexpr int W = kPackWidth<T>;
  const Shape strides = contiguous_strides(shape);
  const Runs runs = merge_runs(shape, strides, strides, mask_strides);
  const bool fit = runs.y[0] == 1 && packs_fit<W>(runs, runs.y, x) && packs_fit<W>(runs, runs.b, mask);
  launch_map<W>(runs, MaskedFill<T>{x, mask, value}, fit);
}

template void masked_fill(float*, const uint8_t*, const Shape&, const Shape&, float);
template void masked_fill(double*, const uint8_t*, const Shape&, const Shape&, double);
template void masked_fill(bf16*, const uint8_t*, const Shape&, const Shape&, bf16);

}  // namespace ringlet::kernels::cuda
