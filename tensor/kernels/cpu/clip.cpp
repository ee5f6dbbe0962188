#include "tensor/kernels/cpu/clip.h"

#include <cmath>

namespace ringlet::kernels {

void clip_coefficient(const double* squares, int64_t n, double max_norm, double* coefficient) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    sum += squares[i];
  }
  const double norm = std::sqrt(sum);
  *coefficient = norm <= max_norm ? 1.0 : max_norm / norm;
}

}  // namespace ringlet::kernels
