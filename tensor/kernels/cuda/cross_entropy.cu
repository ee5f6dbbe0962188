#include "tensor/kernels/cuda/cross_entropy.h"

#include "tensor/kernels/cuda/column_reduce.cuh"
#include "tensor/kernels/cuda/max_and_sum.cuh"

namespace ringlet::kernels::cuda {
namespace {

__device__ bool counts(int32_t label, int32_t ignored, int64_t V) { return label != ignored && label >= 0 && label < V; }

// log_sum = m + log Σ_v exp(z_v − m), 0 in ignored rows. A team to a row (team.cuh), which is read once.
template <int W, typename T>
__global__ __launch_bounds__(1024) void log_sum_kernel(const T* z, const int32_t* labels, int32_t ignored, double* log_sum,
                                                       int64_t rows, int64_t V, bool aligned) {
  const int64_t r = team_row();
  if (r >= rows) {
    return;
  }
  double result = 0.0;
  if (counts(labels[r], ignored, V)) {  // the same for the whole team
    const auto [max, sum] = max_and_sum<W>(z + r * V, V, aligned);
    result = static_cast<double>(max) + log(static_cast<double>(sum));
  }
  if (threadIdx.x == 0) {
    log_sum[r] = result;
  }
}

// The loss of row r, log_sum − z_label, summed over rows in fp64 in the order of column_reduce.cuh, the rows being those of one
// column.
template <typename T>
struct Loss {
  const T* z;
  const int32_t* labels;
  int32_t ignored;
  const double* log_sum;
  int64_t V;
  __device__ double operator()(int64_t, int64_t r, int64_t) const {
    const int32_t label = labels[r];
    return counts(label, ignored, V) ? log_sum[r] - static_cast<double>(z[r * V + label]) : 0.0;
  }
};

struct AddLosses {
  using Value = double;
  __device__ static double identity() { return 0.0; }
  __device__ double operator()(double a, double b) const { return a + b; }
};

template <typename A>
struct StoreLoss {
  A* sum;
  __device__ void operator()(int64_t, double total) const { *sum = static_cast<A>(total); }
};

// dz = d·(exp(z − log_sum) − onehot(label)), 0 in ignored rows. The fp64 log_sum is subtracted in two pieces: a logit of 1000
// must not cost its probability three digits. A team to a row; no sum, so nobody waits for anybody.
template <int W, typename T>
__global__ __launch_bounds__(1024) void cross_entropy_backward_kernel(const Accumulator<T>* d, const T* __restrict__ z,
                                                                      const int32_t* labels, int32_t ignored,
                                                                      const double* log_sum, T* __restrict__ dz, int64_t rows,
                                                                      int64_t V, bool aligned) {
  using A = Accumulator<T>;
  const int64_t r = team_row();
  if (r >= rows) {
    return;
  }
  T* out_row = dz + r * V;
  if (!counts(labels[r], ignored, V)) {
    for_each_pack<W>(V, [&](int64_t v) { store_pack(out_row + v, Pack<T, W>{}, aligned); });
    return;
  }
  const T* row = z + r * V;
  const int64_t label = labels[r];
  const A scale = *d, high = static_cast<A>(log_sum[r]), low = static_cast<A>(log_sum[r] - static_cast<double>(high));
  for_each_pack<W>(V, [&](int64_t v) {
    const Pack<T, W> in = load_pack<W>(row + v, aligned);
    const auto dz_of = [&](int k) {
      const A p = exp((wide(in.v[k]) - high) - low);
      return scale * (v + k == label ? p - A(1) : p);
    };
    store_pack(out_row + v, pack_of<T, W>(dz_of), aligned);
  });
}

}  // namespace

template <typename T>
void cross_entropy(const T* z, const int32_t* labels, int32_t ignored, double* log_sum, Accumulator<T>* sum, int64_t rows,
                   int64_t V) {
  const dim3 block = team_block(V);
  with_width<T>(V, [&]<int W>() {
    launch(log_sum_kernel<W, T>, team_grid(rows, block), block, 0, z, labels, ignored, log_sum, rows, V, is_aligned<W>(z));
  });
  reduce_columns(1, rows, 1, Loss<T>{z, labels, ignored, log_sum, V}, AddLosses{}, StoreLoss<Accumulator<T>>{sum});
}

template <typename T>
void cross_entropy_backward(const Accumulator<T>* d, const T* z, const int32_t* labels, int32_t ignored, const double* log_sum,
                            T* dz, int64_t rows, int64_t V) {
  const dim3 block = team_block(V);
  with_width<T>(V, [&]<int W>() {
    launch(cross_entropy_backward_kernel<W, T>, team_grid(rows, block), block, 0, d, z, labels, ignored, log_sum, dz, rows, V,
           is_aligned<W>(z) && is_aligned<W>(dz));
  });
}

#define RINGLET_INSTANTIATE(T)                                                                                               \
  template void cross_entropy(const T*, const int32_t*, int32_t, double*, Accumulator<T>*, int64_t, int64_t);                \
  template void cross_entropy_backward(const Accumulator<T>*, const T*, const int32_t*, int32_t, const double*, T*, int64_t, \
                                       int64_t);
RINGLET_INSTANTIATE(float)
RINGLET_INSTANTIATE(double)
RINGLET_INSTANTIATE(bf16)

}  // namespace ringlet::kernels::cuda
