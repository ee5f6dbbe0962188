#include "dist/parameter_hash.h"

#include <array>
#include <bit>

#include "tensor/base/hash.h"

namespace ringlet {
namespace {

constexpr uint64_t kPhi = 0x9e3779b97f4a7c15ULL;

template <size_t Bytes>
struct WordOf;
// clang-format off
template <> struct WordOf<1> { using Type = uint8_t; };
template <> struct WordOf<2> { using Type = uint16_t; };
template <> struct WordOf<4> { using Type = uint32_t; };
template <> struct WordOf<8> { using Type = uint64_t; };
// clang-format on

// Sums modulo 2^64 may be taken in any order, so the compiler is free to use vectors.
template <typename T>
uint64_t hash_elements(uint64_t key, const T* x, int64_t n) {
  using Word = typename WordOf<sizeof(T)>::Type;
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += mix64((key + static_cast<uint64_t>(i) * kPhi) ^ static_cast<uint64_t>(std::bit_cast<Word>(x[i])));
  }
  return sum;
}

}  // namespace

uint64_t parameter_hash(std::string_view name, int64_t begin, const Tensor& piece) {
  check(piece.is_contiguous(), "parameter_hash: needs contiguous elements, got shape {} with strides {}", piece.shape(),
        piece.strides());
  const uint64_t key = hash_text(name) + static_cast<uint64_t>(begin) * kPhi;
  return dispatch_all(piece.dtype(), [&]<typename T>() { return hash_elements(key, piece.data<T>(), piece.numel()); });
}

std::string hash_to_hex(uint64_t hash) {
  std::string text(16, '0');
  for (size_t i = 16; i-- > 0; hash >>= 4) {
    text[i] = "0123456789abcdef"[hash & 15];
  }
  return text;
}

}  // namespace ringlet
