#include "tensor/kernels/cpu/element_hash.h"

#include <bit>

#include "tensor/base/hash.h"

namespace ringlet::kernels {
namespace {

template <size_t Bytes>
struct WordOf;
// clang-format off
template <> struct WordOf<1> { using Type = uint8_t; };
template <> struct WordOf<2> { using Type = uint16_t; };
template <> struct WordOf<4> { using Type = uint32_t; };
template <> struct WordOf<8> { using Type = uint64_t; };
// clang-format on

// The order is free, so the compiler may use vectors.
template <typename T>
uint64_t hash_elements(uint64_t key, const T* x, int64_t n) {
  using Word = typename WordOf<sizeof(T)>::Type;
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += mix64((key + static_cast<uint64_t>(i) * kIndexStep) ^ static_cast<uint64_t>(std::bit_cast<Word>(x[i])));
  }
  return sum;
}

}  // namespace

void element_hash(DType dtype, const void* x, int64_t n, uint64_t key, uint64_t* sum) {
  *sum += dispatch_all(dtype, [=]<typename T>() { return hash_elements(key, static_cast<const T*>(x), n); });
}

}  // namespace ringlet::kernels
