#include "tensor/ops/random.h"

#include <algorithm>
#include <span>

#include "tensor/kernels/cpu/parallel.h"

namespace ringlet {
namespace {

// x_i = number first + i as `draw(index, numbers)` gives them, row-major, whatever the strides of x.
template <typename Draw>
void fill_by_index(std::string_view who, Tensor& x, uint64_t first, Draw&& draw) {
  constexpr int64_t kWork = 64, kChunk = 256;  // work per number, in additions
  dispatch_real(who, x.dtype(), [&]<typename T>() {
    const bool here = x.is_contiguous() && x.device() == Device{};  // numbers are drawn on the host
    Tensor numbers = here ? x : Tensor::empty(Device{}, x.shape(), x.dtype());
    T* out = numbers.mutable_data<T>();
    kernels::parallel_ranges(x.numel(), kWork, [&](int64_t begin, int64_t end) {
      double chunk[kChunk];
      for (int64_t i = begin; i < end; i += kChunk) {
        const int64_t length = std::min(kChunk, end - i);
        draw(first + static_cast<uint64_t>(i), std::span<double>(chunk, static_cast<size_t>(length)));
        std::transform(chunk, chunk + length, out + i, [](double value) { return static_cast<T>(value); });
      }
    });
    if (!here) {
      x.copy_from(numbers);
    }
  });
}

}  // namespace

void fill_normal(Tensor& x, const RandomStream& stream, double mean, double standard_deviation, uint64_t first) {
  fill_by_index("fill_normal", x, first, [&](uint64_t i, std::span<double> numbers) {
    stream.normals(i, numbers);
    for (double& number : numbers) {
      number = mean + standard_deviation * number;
    }
  });
}

void fill_uniform(Tensor& x, const RandomStream& stream, double low, double high, uint64_t first) {
  fill_by_index("fill_uniform", x, first, [&](uint64_t i, std::span<double> numbers) {
    for (double& number : numbers) {
      number = low + (high - low) * static_cast<double>(stream.uniform(i++));
    }
  });
}

}  // namespace ringlet
