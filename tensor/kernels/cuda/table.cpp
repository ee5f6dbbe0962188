#include "tensor/kernels/table.h"

#include "tensor/kernels/cuda/adamw.h"
#include "tensor/kernels/cuda/arithmetic.h"
#include "tensor/kernels/cuda/attention.h"
#include "tensor/kernels/cuda/cross_entropy.h"
#include "tensor/kernels/cuda/divide_and_scale.h"
#include "tensor/kernels/cuda/dropout.h"
#include "tensor/kernels/cuda/element_hash.h"
#include "tensor/kernels/cuda/elementwise.h"
#include "tensor/kernels/cuda/embedding.h"
#include "tensor/kernels/cuda/gelu.h"
#include "tensor/kernels/cuda/labels.h"
#include "tensor/kernels/cuda/layer_norm.h"
#include "tensor/kernels/cuda/matmul.h"
#include "tensor/kernels/cuda/movement.h"
#include "tensor/kernels/cuda/reduce.h"
#include "tensor/kernels/cuda/runtime.h"
#include "tensor/kernels/cuda/sgd.h"
#include "tensor/kernels/cuda/softmax.h"
#include "tensor/kernels/cuda/square_sum.h"

namespace ringlet::kernels::cuda {
namespace {

template <typename T>
Table<T> table() {
  Table<T> table{.arithmetic = arithmetic<T>,
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
                 .softmax_backward = softmax_backward<T>};
  if constexpr (!std::is_same_v<T, bf16>) {
    table.adamw = adamw<T>;
    table.adamw_at = adamw_at<T>;
    table.divide_and_scale = divide_and_scale<T>;
    table.sgd = sgd<T>;
    table.sgd_at = sgd_at<T>;
  }
  return table;
}

const Tables& tables() {
  static const Tables kTables{.f32 = table<float>(),
                              .f64 = table<double>(),
                              .b16 = table<bf16>(),
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
}  // namespace ringlet::kernels::cuda

// What a program finds in this library (tensor/base/gpu.cpp).
#define RINGLET_EXPORT extern "C" __attribute__((visibility("default")))
RINGLET_EXPORT const char ringlet_gpu_version[] = RINGLET_VERSION;
RINGLET_EXPORT ringlet::Gpu* ringlet_open_gpu(std::string& why_not) { return ringlet::kernels::cuda::open_gpu(why_not); }
RINGLET_EXPORT const ringlet::kernels::Tables& ringlet_gpu_kernels() { return ringlet::kernels::cuda::tables(); }
