// Copies, fills and masks on the GPU have the bits of the CPU, in every dtype and layout.
#include "tensor/kernels/cuda/movement.h"

#include "test/gpu/bound.h"
#include "test/gpu/shifted.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

struct Layout {
  const char* name;
  Shape shape, to, from;
  int64_t to_elements, from_elements;
};
std::vector<Layout> layouts() {
  return {{"contiguous", {33}, {1}, {1}, 33, 33},
          {"contiguous, whole packs", {4, 64}, {64, 1}, {64, 1}, 256, 256},
          {"a scalar", {}, {}, {}, 1, 1},
          {"nothing", {3, 0}, {1, 1}, {1, 1}, 1, 1},
          {"rows stretched", {6, 16}, {16, 1}, {0, 1}, 96, 16},
          {"transposed", {24, 10}, {10, 1}, {1, 24}, 240, 240},
          {"a part of each row", {5, 16}, {16, 1}, {48, 1}, 80, 240},
          {"into a part of each row", {5, 16}, {32, 1}, {16, 1}, 160, 80},
          {"four dims permuted", {2, 3, 5, 8}, {120, 40, 8, 1}, {8, 16, 48, 1}, 240, 240}};
}

template <typename T>
std::vector<T> values_of(int64_t n) {
  std::vector<T> values;
  for (int64_t i = 0; i < n; ++i) {
    const float x = static_cast<float>(i % 101) + 0.37F;
    values.push_back(static_cast<T>(x));
  }
  return values;
}

constexpr DType kTypes[] = {DType::F32, DType::F64, DType::BF16, DType::I32, DType::I64, DType::U8};

template <typename To, typename From>
void check_copy(const Layout& layout) {
  const std::vector<From> from = values_of<From>(layout.from_elements);
  std::vector<To> expected = values_of<To>(layout.to_elements);
  const std::vector<To> before = expected;
  kernels::copy_strided(dtype_of<To>, expected.data(), layout.to, dtype_of<From>, from.data(), layout.from, layout.shape);
  const auto result = at_every_offset([&](int64_t offset) {
    const Shifted<From> in(from, offset);
    const Shifted<To> out(before, offset);
    kernels::cuda::copy_strided(dtype_of<To>, out.data(), layout.to, dtype_of<From>, in.data(), layout.from, layout.shape);
    return out.values();
  });
  CAPTURE(layout.name, dtype_of<To>, dtype_of<From>);
  CHECK(same_bits(result, expected));
}

}  // namespace

TEST_CASE("a copy on the GPU converts and rearranges as on the CPU", "[gpu]") {
  for (const Layout& layout : layouts()) {
    for (const DType to : kTypes) {
      for (const DType from : kTypes) {
        dispatch_all(to, [&]<typename To>() { dispatch_all(from, [&]<typename From>() { check_copy<To, From>(layout); }); });
      }
    }
  }
}

TEST_CASE("a fill on the GPU writes the view and nothing else", "[gpu]") {
  for (const Layout& layout : layouts()) {
    for (const DType dtype : kTypes) {
      dispatch_all(dtype, [&]<typename T>() {
        std::vector<T> expected = values_of<T>(layout.to_elements);
        const std::vector<T> before = expected;
        kernels::fill(dtype, expected.data(), layout.shape, layout.to, 3.0);
        const auto result = at_every_offset([&](int64_t offset) {
          const Shifted<T> out(before, offset);
          kernels::cuda::fill(dtype, out.data(), layout.shape, layout.to, 3.0);
          return out.values();
        });
        CAPTURE(layout.name, dtype);
        CHECK(same_bits(result, expected));
      });
    }
  }
}

TEMPLATE_TEST_CASE("a masked fill on the GPU has the bits of the CPU", "[gpu]", float, double, bf16) {
  using T = TestType;
  using A = Accumulator<T>;
  for (const Layout& layout : layouts()) {
    int64_t elements = 1;
    for (const int64_t extent : layout.shape.dims()) elements *= extent;
    const std::vector<T> x = operands<T>(elements, "x");
    std::vector<uint8_t> mask;
    for (int64_t i = 0; i < layout.from_elements; ++i) mask.push_back(i % 3 == 0 ? 2 : 0);
    const T value = static_cast<T>(-1e9);
    std::vector<A> expected = widened(x);
    kernels::masked_fill<A>(expected.data(), mask.data(), layout.from, layout.shape, static_cast<A>(value));
    const auto result = at_every_offset([&](int64_t offset) {
      const Shifted<T> out(x, offset);
      const Shifted<uint8_t> masked(mask, offset);
      kernels::cuda::masked_fill(out.data(), masked.data(), layout.from, layout.shape, value);
      return out.values();
    });
    CAPTURE(layout.name);
    CHECK(same_bits(result, narrowed<T>(expected)));
  }
}
