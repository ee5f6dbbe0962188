#include "tensor/kernels/cpu/divide_and_scale.h"

namespace ringlet::kernels {

template <typename T>
void divide_and_scale(T* g, int64_t n, T count, T coefficient) {
  for (int64_t i = 0; i < n; ++i) {
    g[i] = g[i] / count * coefficient;
  }
}

template void divide_and_scale(float*, int64_t, float, float);
template void divide_and_scale(double*, int64_t, double, double);

}  // namespace ringlet::kernels
