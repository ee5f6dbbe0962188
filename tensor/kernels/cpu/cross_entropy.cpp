#include "tensor/kernels/cpu/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "tensor/kernels/cpu/math.h"
#include "tensor/kernels/cpu/parallel.h"
#include "tensor/kernels/cpu/summation.h"

namespace ringlet::kernels {
namespace {

constexpr int64_t kExpWork = 8;

template <typename T>
double log_sum_exp(const T* z, int64_t V) {
  const T largest = max_lanes(z, V);
  return static_cast<double>(largest) +
         std::log(static_cast<double>(sum_lanes<T>(V, [=](int64_t v) { return exp(z[v] - largest); })));
}

// The f64 log_sum is subtracted in two pieces of T: a logit of 1000 must not cost its probability three digits.
template <typename T>
void backward_row(T d, const T* z, int64_t label, double log_sum, T* __restrict dz, int64_t V) {
  const T high = static_cast<T>(log_sum), low = static_cast<T>(log_sum - static_cast<double>(high));
  for (int64_t v = 0; v < V; ++v) {
    dz[v] = d * exp((z[v] - high) - low);
  }
  dz[label] = d * (exp((z[label] - high) - low) - T(1));
}

}  // namespace

template <typename T>
void cross_entropy(const T* z, const int32_t* labels, int32_t ignored, double* log_sum, Accumulator<T>* sum, int64_t rows,
                   int64_t V) {
  parallel_ranges(rows, kExpWork * V, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      log_sum[r] = labels[r] == ignored ? 0.0 : log_sum_exp(z + r * V, V);
    }
  });
  *sum = static_cast<T>(sum_lanes<double>(
      rows, [=](int64_t r) { return labels[r] == ignored ? 0.0 : log_sum[r] - static_cast<double>(z[r * V + labels[r]]); }));
}

template <typename T>
void cross_entropy_backward(const Accumulator<T>* d, const T* z, const int32_t* labels, int32_t ignored, const double* log_sum,
                            T* dz, int64_t rows, int64_t V) {
  const T scale = *d;
  parallel_ranges(rows, kExpWork * V, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      if (labels[r] == ignored) {
        std::fill(dz + r * V, dz + (r + 1) * V, T(0));
      } else {
        backward_row(scale, z + r * V, labels[r], log_sum[r], dz + r * V, V);
      }
    }
  });
}

template void cross_entropy(const float*, const int32_t*, int32_t, double*, float*, int64_t, int64_t);
template void cross_entropy(const double*, const int32_t*, int32_t, double*, double*, int64_t, int64_t);
template void cross_entropy_backward(const float*, const float*, const int32_t*, int32_t, const double*, float*, int64_t,
                                     int64_t);
template void cross_entropy_backward(const double*, const double*, const int32_t*, int32_t, const double*, double*, int64_t,
                                     int64_t);

}  // namespace ringlet::kernels
