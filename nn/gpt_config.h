// The sizes and choices of a GPT. The defaults are the mini-GPT: 29,824 parameters.
#pragma once

#include <cstdint>

#include "tensor/base/dtype.h"
#include "tensor/ops/gelu.h"

namespace ringlet {

struct GptConfig {
  int64_t layers = 2;
  int64_t embed_dim = 32;   // C
  int64_t heads = 4;        // H, divides C
  int64_t vocab_size = 64;  // V
  int64_t seq_len = 16;     // T, the longest sequence: one learned position each
  bool bias = true;         // of the MLP and of LayerNorm; attention and the LM head never have one
  bool tied_head = false;   // the LM head is the token embedding, transposed
  GeluForm activation = GeluForm::Erf;
  double dropout = 0.0;  // of embeddings, attention probabilities and residual branches; in [0, 1)
  double layer_norm_eps = 1e-5;
  uint64_t seed = 41;        // of the initial parameters and of dropout
  DType dtype = DType::F32;  // of the parameters
  bool bf16 = false;         // activations and their gradients in bf16, on a GPU: products by its tensor cores, summed in f32

  /// Throws `Error` naming the first field that is out of range or does not fit another.
  void validate() const;
  /// VC + TC + L·(12C² + 2C + bias·7C) + C + bias·C + (tied ? 0 : CV).
  int64_t parameter_count() const;

  friend bool operator==(const GptConfig&, const GptConfig&) = default;
};

}  // namespace ringlet
