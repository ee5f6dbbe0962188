#include "dist/parameter_hash.h"

#include "tensor/base/hash.h"
#include "tensor/kernels/table.h"

namespace ringlet {

uint64_t parameter_hash(std::string_view name, int64_t begin, const Tensor& piece) {
  check(piece.is_contiguous(), "parameter_hash: needs contiguous elements, got shape {} with strides {}", piece.shape(),
        piece.strides());
  const uint64_t key = hash_text(name) + static_cast<uint64_t>(begin) * kernels::kIndexStep;
  uint64_t sum = 0;
  if (piece.numel() == 0) {
    return sum;
  }
  if (piece.device() == Device{}) {
    kernels::element_hash(piece.dtype(), piece.raw_data(), piece.numel(), key, &sum);
    return sum;
  }
  Tensor there = Tensor::zeros(piece.device(), {}, DType::I64);
  kernels::tables_on(piece.device().kind)
      .element_hash(piece.dtype(), piece.raw_data(), piece.numel(), key,
                    reinterpret_cast<uint64_t*>(there.mutable_data<int64_t>()));
  there.read_bytes(reinterpret_cast<std::byte*>(&sum));
  return sum;
}

std::string hash_to_hex(uint64_t hash) {
  std::string text(16, '0');
  for (size_t i = 16; i-- > 0; hash >>= 4) {
    text[i] = "0123456789abcdef"[hash & 15];
  }
  return text;
}

}  // namespace ringlet
