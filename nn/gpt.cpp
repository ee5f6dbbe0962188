#include "nn/gpt.h"

#include <string>

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/cast.h"
#include "autograd/ops/linear.h"
#include "nn/init.h"

namespace ringlet {
namespace {

const GptConfig& validated(const GptConfig& config) {
  config.validate();
  return config;
}

}  // namespace

Gpt::Gpt(const GptConfig& config)
    : config_(validated(config)),
      wte_(config.vocab_size, config.embed_dim, config.dtype),
      wpe_(config.seq_len, config.embed_dim, config.dtype),
      dropout_(config.dropout, config.seed, "drop"),
      ln_f_(config.embed_dim, config.bias, config.layer_norm_eps, config.dtype) {
  add_module("wte", wte_);
  add_module("wpe", wpe_);
  add_module("drop", dropout_);
  for (int64_t i = 0; i < config.layers; ++i) {
    const std::string path = "h." + std::to_string(i);
    blocks_.push_back(std::make_unique<Block>(config, path));
    add_module(path, *blocks_.back());
  }
  add_module("ln_f", ln_f_);
  if (!config.tied_head) {
    lm_head_ = std::make_unique<Linear>(config.embed_dim, config.vocab_size, false, config.dtype);
    add_module("lm_head", *lm_head_);
  }
  init_gpt2(*this, config.layers, config.seed);
}

std::vector<std::vector<Module*>> Gpt::layers() {
  std::vector<std::vector<Module*>> layers;
  if (lm_head_ != nullptr) {
    layers.push_back({&wte_, &wpe_, &dropout_});  // dropout comes when both have been read
  }
  for (const auto& block : blocks_) {
    layers.push_back({block.get()});
  }
  if (lm_head_ != nullptr) {
    layers.push_back({&ln_f_, lm_head_.get()});
  }
  return layers;
}

Var Gpt::embed(const Tensor& tokens) {
  check(tokens.defined() && tokens.rank() == 2, "Gpt: tokens must be [B, T], got {}", tokens.shape());
  const int64_t T = tokens.dim(1);
  check(T >= 1 && T <= config_.seq_len, "Gpt: the length of a sequence must be in 1 .. {}, got {}", config_.seq_len, T);
  const Var x = wte_.forward(tokens) + wpe_.first(T);  // [B, T, C] + [T, C]
  return dropout_.forward(config_.bf16 ? cast(x, DType::BF16) : x);
}

Var Gpt::head(const Var& x) {
  const Var y = ln_f_.forward(x);
  return lm_head_ != nullptr ? lm_head_->forward(y) : linear_transposed(y, cast(wte_.weight(), y.dtype()));
}

Var Gpt::forward(const Tensor& tokens, const Tensor& key_padding) {
  return hooked([&] {
    Var x = embed(tokens);
    for (const auto& block : blocks_) {
      x = block->forward(x, key_padding);
    }
    return head(x);
  });
}

TokenLoss Gpt::loss(const Tensor& tokens, const Tensor& targets) { return token_loss(forward(tokens), targets); }

}  // namespace ringlet
