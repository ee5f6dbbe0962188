#include "autograd/ops/attention_clear.h"

#include <cmath>
#include <limits>

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/dropout.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/shape.h"
#include "autograd/ops/softmax.h"

namespace ringlet {
namespace {

constexpr double kMasked = -std::numeric_limits<double>::infinity();  // exp(−∞) = 0: no weight, and no gradient

// [T, T]: 1 where the key j comes after the query i.
Tensor future(int64_t T) {
  Tensor mask = Tensor::zeros(Device{}, {T, T}, DType::U8);
  const auto element = mask.mutable_span<uint8_t>();
  for (int64_t i = 0; i < T; ++i) {
    for (int64_t j = i + 1; j < T; ++j) {
      element[static_cast<size_t>(i * T + j)] = 1;
    }
  }
  return mask;
}

}  // namespace

// q, k, v: [B, H, T, D], D = C/H      s = q·kᵀ/√D, −∞ for keys in the future and for padding      p = softmax(s)      y = p·v
Var attention_clear(const Var& qkv, int64_t heads, const Tensor& key_padding, const AttentionDropout& dropout_of_p) {
  check(qkv.rank() == 3 && heads > 0 && qkv.dim(2) % (3 * heads) == 0,
        "attention_clear: qkv must be [B, T, 3C] with C a multiple of the heads, got {} for {} heads", qkv.shape(), heads);
  const int64_t B = qkv.dim(0), T = qkv.dim(1), C = qkv.dim(2) / 3, H = heads, D = C / H;
  const auto split = [&](int64_t which) { return permute(reshape(narrow(qkv, 2, which * C, C), {B, T, H, D}), {0, 2, 1, 3}); };
  const Var q = split(0), k = split(1), v = split(2);

  Var s = matmul(q, transpose(k, -2, -1)) / std::sqrt(static_cast<double>(D));
  s = masked_fill(s, future(T).to(qkv.data().device()), kMasked);
  if (key_padding.defined()) {
    check_shape("attention_clear: key_padding", key_padding, {B, T});
    s = masked_fill(s, key_padding.reshape({B, 1, 1, T}), kMasked);
  }
  const RandomStream stream(dropout_of_p.seed, dropout_of_p.purpose, dropout_of_p.index);
  const Var p = dropout(softmax(s), dropout_of_p.probability, stream);
  return reshape(permute(matmul(p, v), {0, 2, 1, 3}), {B, T, C});
}

}  // namespace ringlet
