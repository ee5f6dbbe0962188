#pragma once

#include <memory>
#include <span>
#include <vector>

#include "nn/block.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/gpt_config.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "nn/loss.h"

namespace ringlet {

/// A GPT (Radford et al., 2019): token and position embeddings, blocks, a final LayerNorm, an LM head.
///   x = wte[tokens] + wpe[0 .. T-1];   x = block_i(x);   logits = ln_f(x)·W_head,  W_head = lm_head.weight, or wteᵀ when tied
/// Parameters have GPT-2's names. A new model is initialised from `config.seed` (nn/init.h).
class Gpt : public Module {
 public:
  /// Throws what `config.validate()` throws.
  explicit Gpt(const GptConfig& config);
  const GptConfig& config() const { return config_; }

  /// tokens: [B, T] of i32, T at most config().seq_len  ->  logits: [B, T, V].
  /// key_padding: undefined, or [B, T] of u8, 1 where the key is padding.
  Var forward(const Tensor& tokens, const Tensor& key_padding = {});
  /// token_loss(forward(tokens), targets).
  TokenLoss loss(const Tensor& tokens, const Tensor& targets);

  /// The embeddings, each block, the head. With a tied head the token embedding is needed at both ends, so only the blocks.
  std::vector<std::vector<Module*>> layers() override;

  // The parts of forward, for those who run them apart.
  Var embed(const Tensor& tokens);  // [B, T] -> [B, T, C]
  std::span<const std::unique_ptr<Block>> blocks() const { return blocks_; }
  Var head(const Var& x);  // [B, T, C] -> [B, T, V], ln_f included

  /// Which micro-batch comes next, counted over all ranks and steps: step · (micro-batches of all ranks per step) + its number.
  void set_dropout_index(uint64_t index) { ringlet::set_dropout_index(*this, index); }

 private:
  GptConfig config_;
  Embedding wte_;
  Embedding wpe_;
  Dropout dropout_;
  std::vector<std::unique_ptr<Block>> blocks_;
  LayerNorm ln_f_;
  std::unique_ptr<Linear> lm_head_;  // null when tied
};

}  // namespace ringlet
