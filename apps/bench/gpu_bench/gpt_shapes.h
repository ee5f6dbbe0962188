// The sizes at which gpu_bench measures.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/gpt_config.h"

namespace ringlet {

/// A GPT and a batch of it. Letters: B sequences of T tokens, N = B·T; width C, of the MLP H = 4C; V tokens; P parameters.
struct GptShapes {
  GptConfig model;
  int64_t B;

  int64_t N() const { return B * model.seq_len; }
  int64_t C() const { return model.embed_dim; }
  int64_t H() const { return 4 * model.embed_dim; }
  int64_t V() const { return model.vocab_size; }
  int64_t P() const { return model.parameter_count(); }
  /// Elements of every parameter; they are P together.
  std::vector<int64_t> parameters() const;
  /// Ids of N tokens, and how many distinct ones there are.
  std::vector<int32_t> ids() const;
  int64_t U() const;
};

/// GPT-2's 124M parameters: 12 blocks of width 768 with 12 heads, sequences of 1024, 50,257 tokens padded to a multiple of 64,
/// 50,304 with a tied head; attention has no biases, which are 37 thousand of GPT-2's. In bf16.
GptShapes gpt2_shapes(int64_t batch_size);
/// Small enough for a GPU in software.
GptShapes small_shapes();

}  // namespace ringlet
