#include "tensor/kernels/table.h"

#include "tensor/base/gpu.h"

namespace ringlet::kernels {
namespace {

template <typename T>
constexpr Table<T> table() {
  return {.arithmetic = arithmetic<T>,
          .arithmetic_into = arithmetic_into<T>,
          .arithmetic_number = arithmetic_number<T>,
          .arithmetic_number_into = arithmetic_number_into<T>,
          .attention = attention<T>,
          .attention_backward = attention_backward<T>,
          .cross_entropy = cross_entropy<T>,
          .cross_entropy_backward = cross_entropy_backward<T>,
          .dropout = dropout<T>,
          .elementwise = elementwise<T>,
          .embedding = embedding<T>,
          .embedding_backward = embedding_backward<T>,
          .gelu_erf = gelu_erf<T>,
          .gelu_erf_backward = gelu_erf_backward<T>,
          .gelu_tanh = gelu_tanh<T>,
          .gelu_tanh_backward = gelu_tanh_backward<T>,
          .layer_norm = layer_norm<T>,
          .layer_norm_backward = layer_norm_backward<T>,
          .layer_norm_backward_weights = layer_norm_backward_weights<T>,
          .linear = linear<T>,
          .masked_fill = masked_fill<T>,
          .matmul = matmul<T>,
          .matmul_add = matmul_add<T>,
          .matmul_batched = matmul_batched<T>,
          .max = max<T>,
          .sum = sum<T>,
          .squared_norm = squared_norm<T>,
          .all_finite = all_finite<T>,
          .softmax = softmax<T>,
          .softmax_backward = softmax_backward<T>,
          .adamw = adamw<T>,
          .adamw_at = adamw_at<T>,
          .divide_and_scale = divide_and_scale<T>,
          .sgd = sgd<T>,
          .sgd_at = sgd_at<T>};
}

const Tables& cpu_tables() {
  static constexpr Tables kTables{.f32 = table<float>(),
                                  .f64 = table<double>(),
                                  .b16 = {},
                                  .attention_keys = attention_keys,
                                  .attention_scratch = attention_scratch,
                                  .check_ids = check_ids,
                                  .copy_strided = copy_strided,
                                  .count_labels = count_labels,
                                  .element_hash = element_hash,
                                  .fill = fill,
                                  .square_sum_f32 = square_sum<float>,
                                  .square_sum_bf16 = square_sum<bf16>};
  return kTables;
}

}  // namespace

const Tables& tables_on(Device::Kind kind) {
  if (kind == Device::Kind::Cpu) {
    return cpu_tables();
  }
  static const Tables& gpu_tables = *reinterpret_cast<const Tables* (*)()>(gpu_symbol("ringlet_gpu_kernels"))();
  return gpu_tables;
}

}  // namespace ringlet::kernels
