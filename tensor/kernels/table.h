// Every kernel that the ops call, for one device. An op is written once: it takes the table of the device on which its operands
// lie and calls what it needs. The types of the members are those of the CPU kernels, so the compiler proves that a kernel has the
// same name and signature on every device; pointers are into that device's memory.
#pragma once

#include <type_traits>

#include "tensor/base/device.h"
#include "tensor/kernels/cpu/adamw.h"
#include "tensor/kernels/cpu/arithmetic.h"
#include "tensor/kernels/cpu/attention.h"
#include "tensor/kernels/cpu/cross_entropy.h"
#include "tensor/kernels/cpu/divide_and_scale.h"
#include "tensor/kernels/cpu/dropout.h"
#include "tensor/kernels/cpu/element_hash.h"
#include "tensor/kernels/cpu/elementwise.h"
#include "tensor/kernels/cpu/embedding.h"
#include "tensor/kernels/cpu/gelu.h"
#include "tensor/kernels/cpu/labels.h"
#include "tensor/kernels/cpu/layer_norm.h"
#include "tensor/kernels/cpu/matmul.h"
#include "tensor/kernels/cpu/movement.h"
#include "tensor/kernels/cpu/reduce.h"
#include "tensor/kernels/cpu/sgd.h"
#include "tensor/kernels/cpu/softmax.h"
#include "tensor/kernels/cpu/square_sum.h"

namespace ringlet::kernels {

/// Those on numbers of type T.
template <typename T>
struct Table {
  decltype(&kernels::arithmetic<T>) arithmetic = nullptr;
  decltype(&kernels::arithmetic_into<T>) arithmetic_into = nullptr;
  decltype(&kernels::arithmetic_number<T>) arithmetic_number = nullptr;
  decltype(&kernels::arithmetic_number_into<T>) arithmetic_number_into = nullptr;
  decltype(&kernels::attention<T>) attention = nullptr;
  decltype(&kernels::attention_backward<T>) attention_backward = nullptr;
  decltype(&kernels::cross_entropy<T>) cross_entropy = nullptr;
  decltype(&kernels::cross_entropy_backward<T>) cross_entropy_backward = nullptr;
  decltype(&kernels::dropout<T>) dropout = nullptr;
  decltype(&kernels::elementwise<T>) elementwise = nullptr;
  decltype(&kernels::embedding<T>) embedding = nullptr;
  decltype(&kernels::embedding_backward<T>) embedding_backward = nullptr;
  decltype(&kernels::gelu_erf<T>) gelu_erf = nullptr;
  decltype(&kernels::gelu_erf_backward<T>) gelu_erf_backward = nullptr;
  decltype(&kernels::gelu_tanh<T>) gelu_tanh = nullptr;
  decltype(&kernels::gelu_tanh_backward<T>) gelu_tanh_backward = nullptr;
  decltype(&kernels::layer_norm<T>) layer_norm = nullptr;
  decltype(&kernels::layer_norm_backward<T>) layer_norm_backward = nullptr;
  decltype(&kernels::layer_norm_backward_weights<T>) layer_norm_backward_weights = nullptr;
  decltype(&kernels::linear<T>) linear = nullptr;
  decltype(&kernels::masked_fill<T>) masked_fill = nullptr;
  decltype(&kernels::matmul<T>) matmul = nullptr;
  decltype(&kernels::matmul_add<T>) matmul_add = nullptr;
  decltype(&kernels::matmul_batched<T>) matmul_batched = nullptr;
  decltype(&kernels::max<T>) max = nullptr;
  decltype(&kernels::sum<T>) sum = nullptr;
  decltype(&kernels::squared_norm<T>) squared_norm = nullptr;
  decltype(&kernels::all_finite<T>) all_finite = nullptr;
  decltype(&kernels::softmax<T>) softmax = nullptr;
  decltype(&kernels::softmax_backward<T>) softmax_backward = nullptr;
  // Null for bf16: master weights are f32.
  decltype(&kernels::adamw<T>) adamw = nullptr;
  decltype(&kernels::adamw_at<T>) adamw_at = nullptr;
  decltype(&kernels::divide_and_scale<T>) divide_and_scale = nullptr;
  decltype(&kernels::sgd<T>) sgd = nullptr;
  decltype(&kernels::sgd_at<T>) sgd_at = nullptr;
};

/// All of a device.
struct Tables {
  Table<float> f32;
  Table<double> f64;
  Table<bf16> b16;  // on the CPU all null: bf16 is a storage type there
  decltype(&kernels::attention_keys) attention_keys;
  decltype(&kernels::attention_scratch) attention_scratch;
  decltype(&kernels::check_ids) check_ids;
  decltype(&kernels::copy_strided) copy_strided;
  decltype(&kernels::count_labels) count_labels;
  decltype(&kernels::element_hash) element_hash;
  decltype(&kernels::fill) fill;
  decltype(&kernels::square_sum<float>) square_sum_f32;
  decltype(&kernels::square_sum<bf16>) square_sum_bf16;

  template <typename T>
  const Table<T>& of() const {
    if constexpr (std::is_same_v<T, float>) {
      return f32;
    } else if constexpr (std::is_same_v<T, double>) {
      return f64;
    } else {
      return b16;
    }
  }
};

/// Those of the CPU, or of a GPU; without one, DeviceUnavailable.
const Tables& tables_on(Device::Kind kind);

}  // namespace ringlet::kernels
