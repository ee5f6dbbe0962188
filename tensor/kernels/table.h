// Every kernel that the ops call, for one device. An op is written once: it takes the table of the device on which its operands
// lie and calls what it needs. The types of the members are those of the CPU kernels, so the compiler proves that a kernel has the
// same name and signature on every device; pointers are into that device's memory.
#pragma once

#include <type_traits>

#include "tensor/base/device.h"
#include "tensor/kernels/cpu/adamw.h"
#include "tensor/kernels/cpu/arithmetic.h"
#include "tensor/kernels/cpu/attention.h"
#include "tensor/kernels/cpu/clip.h"
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
#include "tensor/kernels/names.h"

namespace ringlet::kernels {

/// Those on numbers of type T. Null where there is none of that type (names.h).
template <typename T>
struct Table {
#define RINGLET_MEMBER(name, types) decltype(&kernels::name<T>) name = nullptr;
  RINGLET_TYPED_KERNELS(RINGLET_MEMBER)
#undef RINGLET_MEMBER
};

/// All of a device.
struct Tables {
  Table<float> f32;
  Table<double> f64;
  Table<bf16> b16;
#define RINGLET_MEMBER(name) decltype(&kernels::name) name = nullptr;
  RINGLET_PLAIN_KERNELS(RINGLET_MEMBER)
#undef RINGLET_MEMBER

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
