#include "apps/bench/matmul_bench/on_gpu.h"

#include <functional>

#include "apps/bench/harness/call_time.h"
#include "apps/bench/harness/gpu_numbers.h"
#include "apps/bench/harness/gpu_peak.h"
#include "tensor/kernels/table.h"

namespace ringlet {
namespace {

using kernels::MatrixView;

struct Layer {
  int64_t in, out;
};

template <typename T>
GpuProduct time_product(const std::string& form, int64_t M, int64_t N, int64_t K, int64_t rounds, bool tf32) {
  const auto make = [=] {
    const Tensor a = gpu_numbers({M * K}, dtype_of<T>), b = gpu_numbers({K * N}, dtype_of<T>);
    const MatrixView<T> A = form[0] == 'T' ? MatrixView<T>{a.data<T>(), 1, M} : MatrixView<T>{a.data<T>(), K, 1};
    const MatrixView<T> B = form[1] == 'T' ? MatrixView<T>{b.data<T>(), 1, K} : MatrixView<T>{b.data<T>(), N, 1};
    Tensor c = Tensor::empty({M * N}, dtype_of<T>);
    return [=]() mutable {
      kernels::tables_on(Device::Kind::Cuda).of<T>().matmul(M, N, K, A, B, c.template mutable_data<T>());
      static_cast<void>(a.shape()), static_cast<void>(b.shape());  // held while they are multiplied
    };
  };
  const int64_t bytes = (M * K + K * N + M * N) * int64_t{sizeof(T)};
  return {std::string(name_of(dtype_of<T>)),    form, M, N, K, seconds_of_call(cold_sets(make, bytes), rounds),
          GpuPeak{}.products(dtype_of<T>, tf32)};
}

template <typename T>
void time_layer(const Layer& layer, const GpuProductSizes& sizes, bool tf32, std::vector<GpuProduct>& found) {
  found.push_back(time_product<T>("NN", sizes.tokens, layer.out, layer.in, sizes.rounds, tf32));
  found.push_back(time_product<T>("NT", sizes.tokens, layer.in, layer.out, sizes.rounds, tf32));
  found.push_back(time_product<T>("TN", layer.in, layer.out, sizes.tokens, sizes.rounds, tf32));
}

}  // namespace

std::vector<GpuProduct> time_gpu_products(const GpuProductSizes& sizes, bool tf32) {
  const int64_t C = sizes.width;
  std::vector<GpuProduct> found;
  for (const Layer& layer : {Layer{C, 3 * C}, Layer{C, C}, Layer{C, 4 * C}, Layer{4 * C, C}, Layer{C, sizes.vocab_size}}) {
    time_layer<float>(layer, sizes, tf32, found);
    time_layer<bf16>(layer, sizes, tf32, found);
  }
  return found;
}

}  // namespace ringlet
