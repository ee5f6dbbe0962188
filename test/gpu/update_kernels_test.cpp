// The kernels of optimizers and of finished gradients give the bits of their CPU twins.
#include <cmath>
#include <limits>
#include <string>
#include <tuple>

#include "tensor/kernels/cuda/adamw.h"
#include "tensor/kernels/cuda/divide_and_scale.h"
#include "tensor/kernels/cuda/element_hash.h"
#include "tensor/kernels/cuda/sgd.h"
#include "tensor/kernels/cuda/square_sum.h"
#include "test/gpu/device_vector.h"
#include "test/gpu/every_order.h"
#include "test/tensor/values.h"

using namespace ringlet;
using ringlet::test::in_every_order;
using ringlet::test::same_bits;

namespace {

// Lengths around the chunk of 2,048, an empty slice, and more slices than fit into one launch.
std::vector<int64_t> lengths() {
  std::vector<int64_t> all{1, 0, 2047, 2048, 2049, 5000};
  all.resize(70, 3);
  return all;
}
int64_t total() {
  int64_t sum = 0;
  for (const int64_t n : lengths()) {
    sum += n;
  }
  return sum;
}

template <typename T>
std::vector<T> magnitudes(int64_t n, const std::string& name) {
  std::vector<T> values = test::normals<T>(n, name);
  for (T& x : values) {
    x = std::fabs(x);
  }
  return values;
}

// w, then m, then v, one after the other.
template <typename T, typename Run>
void adamw_with(T* state, const T* g, Run&& run) {
  std::vector<kernels::AdamWSlice<T>> slices;
  int64_t begin = 0;
  const int64_t n = total();
  for (const int64_t length : lengths()) {
    slices.push_back({state + begin, g + begin, state + n + begin, state + 2 * n + begin, length, begin % 2 == 0 ? 0.1 : 0.0});
    begin += length;
  }
  run(slices.data(), static_cast<int64_t>(slices.size()));
}

template <typename T>
std::vector<T> adamw_state() {
  std::vector<T> state = test::normals<T>(total(), "w");
  const std::vector<T> m = test::normals<T>(total(), "m"), v = magnitudes<T>(total(), "v");
  state.insert(state.end(), m.begin(), m.end());
  state.insert(state.end(), v.begin(), v.end());
  return state;
}

}  // namespace

TEMPLATE_TEST_CASE("adamw on the GPU: the bits of the CPU, scalars by value or from memory", "[gpu]", float, double) {
  using T = TestType;
  const kernels::AdamWScalars<T> scalars{3e-4, T(0.9), T(0.999), T(0.1), T(0.001), T(2e-4), T(1e-9)};
  const std::vector<T> state = adamw_state<T>(), g = test::normals<T>(total(), "g");
  std::vector<T> expected = state;
  adamw_with(expected.data(), g.data(), [&](auto* slices, int64_t count) { kernels::adamw(slices, count, scalars); });
  const DeviceVector<kernels::AdamWScalars<T>> stored(std::vector<kernels::AdamWScalars<T>>{scalars});
  for (const bool by_value : {true, false}) {
    const std::vector<T> result = in_every_order([&] {
      const DeviceVector<T> on_device(state), gradient(g);
      adamw_with(on_device.data(), gradient.data(), [&](auto* slices, int64_t count) {
        by_value ? kernels::cuda::adamw(slices, count, scalars) : kernels::cuda::adamw_at(slices, count, stored.data());
      });
      return on_device.values();
    });
    CHECK(same_bits(result, expected));
  }
}

TEMPLATE_TEST_CASE("sgd on the GPU: the bits of the CPU, plain, with momentum and Nesterov", "[gpu]", float, double) {
  using T = TestType;
  const auto [momentum, nesterov] = GENERATE(std::tuple{false, false}, std::tuple{true, false}, std::tuple{true, true});
  const kernels::SgdScalars<T> scalars{T(0.05), momentum ? T(0.9) : T(0), T(0.7), nesterov};
  std::vector<T> state = test::normals<T>(2 * total(), "w and b");
  const std::vector<T> g = test::normals<T>(total(), "g");
  const auto with_slices = [&, has_momentum = momentum](T* values, const T* gradient, auto&& run) {
    std::vector<kernels::SgdSlice<T>> slices;
    int64_t begin = 0;
    for (const int64_t n : lengths()) {
      slices.push_back({values + begin, gradient + begin, has_momentum ? values + total() + begin : nullptr, n, T(0.01)});
      begin += n;
    }
    run(slices.data(), static_cast<int64_t>(slices.size()));
  };
  std::vector<T> expected = state;
  with_slices(expected.data(), g.data(), [&](auto* slices, int64_t count) { kernels::sgd(slices, count, scalars); });
  const std::vector<T> result = in_every_order([&] {
    const DeviceVector<T> on_device(state), gradient(g);
    with_slices(on_device.data(), gradient.data(),
                [&](auto* slices, int64_t count) { kernels::cuda::sgd(slices, count, scalars); });
    return on_device.values();
  });
  CHECK(same_bits(result, expected));
}

TEMPLATE_TEST_CASE("divide_and_scale on the GPU: two roundings", "[gpu]", float, double) {
  using T = TestType;
  for (const int64_t n : {1, 255, 256, 257, 1000}) {
    std::vector<T> g = test::normals<T>(n, "g");
    const std::vector<T> result = in_every_order([&] {
      const DeviceVector<T> on_device(g);
      kernels::cuda::divide_and_scale(on_device.data(), n, T(4093), T(0.37));
      return on_device.values();
    });
    kernels::divide_and_scale(g.data(), n, T(4093), T(0.37));
    CHECK(same_bits(result, g));
  }
}

TEST_CASE("element_hash on the GPU: the sum of the CPU, for words of every size", "[gpu]") {
  const DType dtype = GENERATE(DType::U8, DType::BF16, DType::F32, DType::I64);
  for (const int64_t n : {1, 31, 32, 257, 4000}) {
    std::vector<double> words = test::normals<double>(n, "words");
    const uint64_t key = 0x1234567890abcdefULL;
    uint64_t expected = 5;
    kernels::element_hash(dtype, words.data(), n, key, &expected);
    const std::vector<uint64_t> result = in_every_order([&] {
      const DeviceVector<double> on_device(words);
      const DeviceVector<uint64_t> sum(std::vector<uint64_t>{5});
      kernels::cuda::element_hash(dtype, on_device.data(), n, key, sum.data());
      return sum.values();
    });
    CHECK(result[0] == expected);
  }
}

namespace {

// From the least subnormal to the largest number; with an infinity and two NaNs where asked for.
template <typename T>
std::vector<T> of_every_magnitude(int64_t n, bool finite) {
  std::vector<double> normals = test::normals<double>(n, "magnitudes");
  std::vector<T> values;
  for (int64_t i = 0; i < n; ++i) {
    values.push_back(T(static_cast<float>(std::ldexp(normals[static_cast<size_t>(i)], static_cast<int>(i * 37 % 270) - 148))));
  }
  if (!finite && n > 1) {
    values[0] = T(-std::numeric_limits<float>::infinity());
    values[static_cast<size_t>(n) / 2] = values[static_cast<size_t>(n) - 1] = T(std::numeric_limits<float>::quiet_NaN());
  }
  return values;
}

// The limbs as 32 bits each, and the two counts.
std::vector<uint64_t> carried(kernels::SquareLimbs sum) {
  std::vector<uint64_t> words;
  uint64_t over = 0;
  for (const uint64_t limb : sum.limbs) {
    words.push_back((limb + over) & 0xffffffffU);
    over = (limb + over) >> 32;
  }
  words.push_back(sum.infinities);
  words.push_back(sum.nans);
  return words;
}

}  // namespace

TEMPLATE_TEST_CASE("square_sum on the GPU: exactly the number of the CPU", "[gpu]", float, bf16) {
  using T = TestType;
  const bool finite = GENERATE(true, false);
  for (const int64_t n : {1, 2, 255, 1023, 1024, 1025, 5000}) {
    const std::vector<T> x = of_every_magnitude<T>(n, finite);
    kernels::SquareLimbs expected{};
    kernels::square_sum(x.data(), n, &expected);
    const std::vector<uint64_t> result = in_every_order([&] {
      const DeviceVector<T> on_device(x);
      const DeviceVector<kernels::SquareLimbs> sum(std::vector<kernels::SquareLimbs>(1));
      kernels::cuda::square_sum(on_device.data(), n, sum.data());
      return carried(sum.values()[0]);
    });
    CHECK(result == carried(expected));
  }
}
