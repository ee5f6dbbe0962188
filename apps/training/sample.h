// Text from a trained model, a token at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/gpt.h"

namespace ringlet {

struct SampleOptions {
  int64_t tokens = 200;
  double temperature = 0.8;  // logits are divided by it; 0: always the likeliest token
  int64_t top_k = 0;         // only the k likeliest; 0: all
  uint64_t seed = 41;
};

/// Continues `prompt` (at least one token) by `options.tokens` tokens and returns those. Each is drawn from the softmax of the
/// model's logits after the last seq_len tokens, with counter-based randomness: the same seed gives the same text. Costs a forward
/// pass per token. Dropout is off meanwhile.
std::vector<int32_t> sample(Gpt& model, std::vector<int32_t> prompt, const SampleOptions& options);

/// One token drawn from `logits`: the first whose cumulated probability exceeds `uniform` in [0, 1). Ties are broken by the lower id.
int32_t draw_token(std::span<const float> logits, double temperature, int64_t top_k, double uniform);

}  // namespace ringlet
