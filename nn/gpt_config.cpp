#include "nn/gpt_config.h"

#include <cmath>
#include <limits>
#include <string_view>

#include "tensor/base/check.h"

namespace ringlet {

void GptConfig::validate() const {
  const auto check_size = [](std::string_view what, int64_t value) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // ids are i32
    check(value >= 1 && value <= kMost, "GptConfig: {} must be in 1 .. {}, got {}", what, kMost, value);
  };
  check_size("layers", layers);
  check_size("embed_dim", embed_dim);
  check_size("heads", heads);
  check_size("vocab_size", vocab_size);
  check_size("seq_len", seq_len);
  check(embed_dim % heads == 0, "GptConfig: heads must divide embed_dim, got {} heads for {}", heads, embed_dim);
  check(dropout >= 0.0 && dropout < 1.0, "GptConfig: dropout must be in [0, 1), got {}", dropout);
  check(layer_norm_eps > 0.0 && std::isfinite(layer_norm_eps), "GptConfig: layer_norm_eps must be positive and finite, got {}",
        layer_norm_eps);
  check(dtype == DType::F32 || dtype == DType::F64, "GptConfig: dtype must be f32 or f64, got {}", dtype);
}

int64_t GptConfig::parameter_count() const {
  const int64_t C = embed_dim, V = vocab_size, T = seq_len, L = layers, with_bias = bias ? 1 : 0;
  const int64_t layer_norm = C + with_bias * C;
  const int64_t attention = C * 3 * C + C * C;
  const int64_t mlp = C * 4 * C + 4 * C * C + with_bias * 5 * C;
  return V * C + T * C + L * (2 * layer_norm + attention + mlp) + layer_norm + (tied_head ? 0 : C * V);
}

}  // namespace ringlet
