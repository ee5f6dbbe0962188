#include "tensor/kernels/table.h"

#include "tensor/kernels/cuda/adamw.h"
#include "tensor/kernels/cuda/arithmetic.h"
#include "tensor/kernels/cuda/attention.h"
#include "tensor/kernels/cuda/clip.h"
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
constexpr Table<T> table() {
  Table<T> all;
#define RINGLET_MEMBER(name, types)              \
  if constexpr (exists<T>(Types::types, true)) { \
    all.name = cuda::name<T>;                    \
  }
  RINGLET_TYPED_KERNELS(RINGLET_MEMBER)
#undef RINGLET_MEMBER
  return all;
}

const Tables& tables() {
  static constexpr Tables kTables{.f32 = table<float>(),
                                  .f64 = table<double>(),
                                  .b16 = table<bf16>(),
#define RINGLET_MEMBER(name) .name = cuda::name,
                                  RINGLET_PLAIN_KERNELS(RINGLET_MEMBER)};
#undef RINGLET_MEMBER
  return kTables;
}

}  // namespace
}  // namespace ringlet::kernels::cuda

// What a program finds in this library (tensor/base/gpu.cpp).
#define RINGLET_EXPORT extern "C" __attribute__((visibility("default")))
RINGLET_EXPORT const char ringlet_gpu_version[] = RINGLET_VERSION;
RINGLET_EXPORT ringlet::Gpu* ringlet_open_gpu(std::string& why_not) { return ringlet::kernels::cuda::open_gpu(why_not); }
RINGLET_EXPORT const ringlet::kernels::Tables& ringlet_gpu_kernels() { return ringlet::kernels::cuda::tables(); }
