#include "tensor/ops/random.h"

#include "tensor/kernels/cpu/parallel.h"

namespace ringlet {
namespace {

// x_i = value(first + i), row-major, whatever the strides of x.
template <typename Value>
void fill_by_index(std::string_view who, Tensor& x, uint64_t first, Value&& value) {
  constexpr int64_t kWork = 64;  // per number, in additions
  dispatch_real(who, x.dtype(), [&]<typename T>() {
    Tensor numbers = x.is_contiguous() ? x : Tensor::empty(x.shape(), x.dtype());
    T* out = numbers.mutable_data<T>();
    kernels::parallel_ranges(x.numel(), kWork, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        out[i] = static_cast<T>(value(first + static_cast<uint64_t>(i)));
      }
    });
    if (!x.is_contiguous()) {
      x.copy_from(numbers);
    }
  });
}

}  // namespace

void fill_normal(Tensor& x, const RandomStream& stream, double mean, double standard_deviation, uint64_t first) {
  fill_by_index("fill_normal", x, first, [&](uint64_t i) { return mean + standard_deviation * stream.normal(i); });
}

void fill_uniform(Tensor& x, const RandomStream& stream, double low, double high, uint64_t first) {
  fill_by_index("fill_uniform", x, first,
                [&](uint64_t i) { return low + (high - low) * static_cast<double>(stream.uniform(i)); });
}

}  // namespace ringlet
