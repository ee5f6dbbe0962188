#include "tensor/kernels/cpu/dropout.h"

#include <algorithm>

#include "tensor/kernels/cpu/parallel.h"

namespace ringlet::kernels {

template <typename T>
void dropout(const T* x, T* y, int64_t n, double p, const RandomStream& stream, uint64_t first) {
  constexpr int64_t kChunk = 256, kWork = 16;
  const float threshold = dropout_threshold(p);
  const T scale = static_cast<T>(1.0 / (1.0 - p));
  parallel_ranges(n, kWork, [&](int64_t begin, int64_t end) {
    float number[kChunk];
    for (int64_t i = begin; i < end; i += kChunk) {
      const int64_t length = std::min(kChunk, end - i);
      stream.uniforms(first + static_cast<uint64_t>(i), {number, static_cast<size_t>(length)});
      const T* in = x + i;
      T* __restrict out = y + i;
      for (int64_t k = 0; k < length; ++k) {
        out[k] = number[k] >= threshold ? in[k] * scale : T(0);
      }
    }
  });
}

template void dropout(const float*, float*, int64_t, double, const RandomStream&, uint64_t);
template void dropout(const double*, double*, int64_t, double, const RandomStream&, uint64_t);

}  // namespace ringlet::kernels
