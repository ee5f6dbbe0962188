// Operands of kernels at addresses that are aligned and that are not.
#pragma once

#include <vector>

#include "test/gpu/device_vector.h"
#include "test/gpu/every_order.h"

namespace ringlet::test {

/// Device memory whose first element stands `offset` elements behind an aligned address. What is not written reads as NaN.
template <typename T>
class Shifted {
 public:
  Shifted(int64_t n, int64_t offset) : offset_(offset), memory_(static_cast<size_t>(n + offset)) {}
  Shifted(const std::vector<T>& values, int64_t offset) : offset_(offset), memory_(with_gap(values, offset)) {}

  T* data() const { return memory_.data() + offset_; }
  std::vector<T> values() const {
    const std::vector<T> all = memory_.values();
    return {all.begin() + offset_, all.end()};
  }

 private:
  static std::vector<T> with_gap(std::vector<T> values, int64_t offset) {
    values.insert(values.begin(), static_cast<size_t>(offset), T(0.0F));
    return values;
  }

  int64_t offset_;
  DeviceVector<T> memory_;
};

/// `run(offset)` returns what a kernel wrote with its operands shifted by so much: the same bits in every order and at every offset.
template <typename Run>
auto at_every_offset(Run&& run) {
  const auto result = in_every_order([&] { return run(int64_t{0}); });
  for (const int64_t offset : {1, 3}) {
    INFO("offset " << offset);
    CHECK(same_bits(result, run(offset)));
  }
  return result;
}

}  // namespace ringlet::test
