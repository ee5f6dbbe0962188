#include "tensor/kernels/table.h"

#include "tensor/base/gpu.h"

namespace ringlet::kernels {
namespace {

template <typename T>
constexpr Table<T> table() {
  Table<T> all;
#define RINGLET_MEMBER(name, types)               \
  if constexpr (exists<T>(Types::types, false)) { \
    all.name = kernels::name<T>;                  \
  }
  RINGLET_TYPED_KERNELS(RINGLET_MEMBER)
#undef RINGLET_MEMBER
  return all;
}

const Tables& cpu_tables() {
  static constexpr Tables kTables{.f32 = table<float>(),
                                  .f64 = table<double>(),
                                  .b16 = table<bf16>(),
#define RINGLET_MEMBER(name) .name = kernels::name,
                                  RINGLET_PLAIN_KERNELS(RINGLET_MEMBER)};
#undef RINGLET_MEMBER
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
