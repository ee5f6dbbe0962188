#include "apps/bench/harness/gpu_numbers.h"

#include <algorithm>

#include "tensor/base/gpu.h"
#include "tensor/base/random.h"

namespace ringlet {

Tensor gpu_numbers(const Shape& shape, DType dtype) {
  constexpr int64_t kBlock = 65536;
  Tensor all = Tensor::empty(shape, dtype);
  const int64_t n = all.numel(), block = std::min(n, kBlock);
  const RandomStream stream(41, "gpu_numbers");
  std::vector<float> values(static_cast<size_t>(block));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(stream.normal(i));
  }
  all.view({n}).narrow(0, 0, block).copy_from(Tensor::from(values, {block}));
  const auto size = static_cast<int64_t>(size_of(dtype));
  std::byte* const bytes = all.mutable_raw_data();
  for (int64_t filled = block; filled < n; filled *= 2) {  // twice as many with each copy
    gpu().start_copy(bytes + filled * size, bytes, static_cast<size_t>(std::min(filled, n - filled) * size));
  }
  return all;
}

std::vector<std::function<void()>> cold_sets(const std::function<std::function<void()>()>& make, int64_t bytes) {
  const int64_t wanted = 4 * gpu().cache_bytes(Allocator::current()->device().index);
  std::vector<std::function<void()>> sets;
  for (int64_t i = 0; i < std::clamp<int64_t>((wanted + bytes - 1) / bytes, 1, 64); ++i) {
    sets.push_back(make());
  }
  return sets;
}

}  // namespace ringlet
