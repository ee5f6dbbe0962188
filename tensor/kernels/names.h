// Every kernel by its name, once. The table (table.h) and what fills it on each device are made from these lists: a kernel that a device
// does not declare does not compile, and one that it does not define does not link.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tensor/base/dtype.h"

namespace ringlet::kernels {

/// On numbers of which types there is a kernel.
enum class Types : uint8_t {
  All,      // f32 and f64; on a GPU also bf16, which is a storage type on the CPU
  Masters,  // f32 and f64: what an optimizer updates
  Exact     // f32 and bf16, whose squares are summed exactly
};
template <typename T>
constexpr bool exists(Types types, bool on_gpu) {
  if (types == Types::Exact) {
    return !std::is_same_v<T, double>;
  }
  return !std::is_same_v<T, bf16> || (types == Types::All && on_gpu);
}

// clang-format off
/// kernel(name, types), of those that are templates over the type of their numbers.
#define RINGLET_TYPED_KERNELS(kernel)         \
  kernel(arithmetic, All)                     \
  kernel(arithmetic_into, All)                \
  kernel(arithmetic_number, All)              \
  kernel(arithmetic_number_into, All)         \
  kernel(attention, All)                      \
  kernel(attention_backward, All)             \
  kernel(cross_entropy, All)                  \
  kernel(cross_entropy_backward, All)         \
  kernel(dropout, All)                        \
  kernel(elementwise, All)                    \
  kernel(embedding, All)                      \
  kernel(embedding_backward, All)             \
  kernel(gelu_erf, All)                       \
  kernel(gelu_erf_backward, All)              \
  kernel(gelu_tanh, All)                      \
  kernel(gelu_tanh_backward, All)             \
  kernel(layer_norm, All)                     \
  kernel(layer_norm_backward, All)            \
  kernel(layer_norm_backward_weights, All)    \
  kernel(linear, All)                         \
  kernel(masked_fill, All)                    \
  kernel(matmul, All)                         \
  kernel(matmul_add, All)                     \
  kernel(matmul_batched, All)                 \
  kernel(max, All)                            \
  kernel(sum, All)                            \
  kernel(squared_norm, All)                   \
  kernel(all_finite, All)                     \
  kernel(softmax, All)                        \
  kernel(softmax_backward, All)               \
  kernel(adamw, Masters)                      \
  kernel(adamw_at, Masters)                   \
  kernel(divide_and_scale, Masters)           \
  kernel(sgd, Masters)                        \
  kernel(sgd_at, Masters)                     \
  kernel(square_sum, Exact)

/// kernel(name), of the others.
#define RINGLET_PLAIN_KERNELS(kernel)         \
  kernel(attention_keys)                      \
  kernel(attention_scratch)                   \
  kernel(check_ids)                           \
  kernel(clip_coefficient)                    \
  kernel(copy_strided)                        \
  kernel(count_labels)                        \
  kernel(element_hash)                        \
  kernel(fill)
// clang-format on

}  // namespace ringlet::kernels
