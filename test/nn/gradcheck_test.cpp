// Every layer against finite differences: one table, over layers and odd shapes.
#include <memory>

#include "autograd/gradcheck.h"
#include "nn/block.h"
#include "nn/causal_self_attention.h"
#include "nn/embedding.h"
#include "nn/gpt.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "nn/mlp.h"
#include "test/nn/random_values.h"
#include "test/support/catch.h"

using namespace ringlet;

namespace {

constexpr DType kF64 = DType::F64;

// A layer made anew, and what it makes of x.
struct Layer {
  std::shared_ptr<Module> module;
  std::function<Var(const Var& x)> forward;
};

template <typename M, typename... Args>
Layer layer(Args&&... args) {
  const auto module = std::make_shared<M>(std::forward<Args>(args)...);
  return {module, [module](const Var& x) { return module->forward(x); }};
}

struct Row {
  std::string what;
  Layer layer;
  Shape x;
};

GptConfig config(int64_t C, int64_t H, bool bias = true, GeluForm form = GeluForm::Erf, double dropout = 0.0) {
  return {.layers = 1,
          .embed_dim = C,
          .heads = H,
          .vocab_size = 7,
          .seq_len = 5,
          .bias = bias,
          .activation = form,
          .dropout = dropout,
          .dtype = kF64};
}

// Attention and Block over a batch of two, where the first key of the second sequence is padding.
template <typename M>
Layer padded(const GptConfig& config) {
  const auto module = std::make_shared<M>(config, "h.0");
  return {module, [module](const Var& x) {
            Tensor padding = Tensor::zeros({x.dim(0), x.dim(1)}, DType::U8);
            padding.mutable_data<uint8_t>()[x.dim(1)] = 1;
            return module->forward(x, padding);
          }};
}

Layer embedding_of(const Tensor& ids, int64_t rows, int64_t C) {
  const auto module = std::make_shared<Embedding>(rows, C, kF64);
  return {module, [module, ids](const Var&) { return module->forward(ids); }};
}

Layer first_rows(int64_t count, int64_t rows, int64_t C) {
  const auto module = std::make_shared<Embedding>(rows, C, kF64);
  return {module, [module, count](const Var&) { return module->first(count); }};
}

std::vector<Row> rows() {
  const GptConfig odd = config(6, 2), no_bias = config(6, 3, false), heads = config(5, 5), one = config(1, 1);
  const GptConfig tanh = config(6, 2, true, GeluForm::Tanh), dropped = config(6, 2, true, GeluForm::Erf, 0.3);
  const std::string at = "h.0";
  return {
      {"Linear", layer<Linear>(3, 5, true, kF64), {2, 3}},
      {"Linear without bias", layer<Linear>(5, 3, false, kF64), {7, 5}},
      {"Linear 1x1", layer<Linear>(1, 1, true, kF64), {1, 1}},
      {"Linear, batch of none", layer<Linear>(3, 5, true, kF64), {0, 4, 3}},
      {"Linear, three dims", layer<Linear>(3, 2, true, kF64), {2, 3, 3}},
      {"Embedding, repeated ids", embedding_of(Tensor::from<int32_t>({2, 2, 0, 2}, {2, 2}), 4, 3), {}},
      {"Embedding, no ids", embedding_of(Tensor::zeros({0, 3}, DType::I32), 4, 3), {}},
      {"Embedding, first rows", first_rows(3, 5, 2), {}},
      {"Embedding, all rows", first_rows(5, 5, 2), {}},
      {"LayerNorm", layer<LayerNorm>(7, true, 1e-5, kF64), {3, 7}},
      {"LayerNorm without bias", layer<LayerNorm>(4, false, 1e-5, kF64), {2, 3, 4}},
      {"LayerNorm of one channel", layer<LayerNorm>(1, true, 1e-5, kF64), {3, 1}},
      {"LayerNorm, batch of none", layer<LayerNorm>(4, true, 1e-5, kF64), {0, 4}},
      {"Dropout", layer<Dropout>(0.3, 3, "x"), {5, 7}},
      {"Dropout of nothing", layer<Dropout>(0.3, 3, "x"), {0, 7}},
      {"CausalSelfAttention", layer<CausalSelfAttention>(odd, at), {2, 5, 6}},
      {"CausalSelfAttention, T = 1", layer<CausalSelfAttention>(odd, at), {3, 1, 6}},
      {"CausalSelfAttention, C = H", layer<CausalSelfAttention>(heads, at), {2, 3, 5}},
      {"CausalSelfAttention of one channel", layer<CausalSelfAttention>(one, at), {1, 3, 1}},
      {"CausalSelfAttention, batch of none", layer<CausalSelfAttention>(odd, at), {0, 3, 6}},
      {"CausalSelfAttention, dropout", layer<CausalSelfAttention>(dropped, at), {2, 3, 6}},
      {"CausalSelfAttention, padding", padded<CausalSelfAttention>(odd), {2, 3, 6}},
      {"Mlp, erf", layer<Mlp>(odd, at), {2, 3, 6}},
      {"Mlp, tanh", layer<Mlp>(tanh, at), {2, 3, 6}},
      {"Mlp without bias, dropout", layer<Mlp>(config(3, 1, false, GeluForm::Erf, 0.3), at), {5, 3}},
      {"Mlp, batch of none", layer<Mlp>(odd, at), {0, 3, 6}},
      {"Block", layer<Block>(odd, at), {2, 3, 6}},
      {"Block without bias", layer<Block>(no_bias, at), {1, 5, 6}},
      {"Block, T = 1", layer<Block>(odd, at), {1, 1, 6}},
      {"Block, batch of none", layer<Block>(odd, at), {0, 3, 6}},
      {"Block, dropout", layer<Block>(dropped, at), {2, 3, 6}},
      {"Block, padding", padded<Block>(odd), {2, 3, 6}},
  };
}

std::vector<CheckedInput> inputs_of(Module& module) {
  test::randomize(module);
  std::vector<CheckedInput> inputs;
  for (const NamedParameter& parameter : module.parameters()) {
    inputs.push_back({parameter.name, parameter.var});
  }
  return inputs;
}

}  // namespace

TEST_CASE("the gradient of every layer is the derivative", "[nn]") {
  for (const Row& row : rows()) {
    std::vector<CheckedInput> inputs = inputs_of(*row.layer.module);
    const Var x(test::normal(row.x, row.what), true);
    if (row.x.rank() > 0) {
      inputs.push_back({"x", x});
    }
    const GradcheckResult result = gradcheck(
        row.what, [&] { return row.layer.forward(x); }, inputs);
    INFO(row.what << ": " << result.text);
    CHECK(result.ok);
  }
}

TEST_CASE("the gradient of the token loss is the derivative, and zero where no label counts", "[nn]") {
  const std::vector<std::vector<int32_t>> labels = {
      {0, 4, 2, 2, 1, 3}, {0, -100, 2, -100, -100, 3}, {-100, -100, -100, -100, -100, -100}};
  for (const auto& targets : labels) {
    const Var logits(test::normal({2, 3, 5}, "logits"), true);
    const CheckedInput inputs[] = {{"logits", logits}};
    const GradcheckResult result = gradcheck(
        "token_loss",
        [&] {
          return token_loss(logits, Tensor::from(targets, {2, 3})).sum;
        },
        inputs);
    INFO(result.text);
    CHECK(result.ok);
  }
}

TEST_CASE("the gradient of the whole mini-GPT is the derivative", "[nn]") {
  for (const int choice : {0, 1, 2, 3, 4, 5, 6, 7}) {
    GptConfig mini;
    mini.dtype = kF64;
    mini.tied_head = (choice & 1) != 0;
    mini.bias = (choice & 2) == 0;
    mini.activation = (choice & 4) == 0 ? GeluForm::Erf : GeluForm::Tanh;
    mini.dropout = choice % 3 == 1 ? 0.2 : 0.0;
    Gpt model(mini);
    std::vector<CheckedInput> inputs = inputs_of(model);
    const Tensor tokens = test::tokens(4, 16, 64), targets = test::tokens(4, 16, 64, "targets");
    const GradcheckOptions options{.tolerance = 1e-6, .directions = 1, .coordinates = 1};
    const GradcheckResult result = gradcheck(
        "mini-GPT", [&] { return model.loss(tokens, targets).sum; }, inputs, options);
    INFO("choice " << choice << ": " << result.text);
    CHECK(result.ok);
    CHECK(result.bound <= 1e-6);
  }
}
