// Rows of the gradient table: LayerNorm, losses, dropout, embedding, attention.

#include "autograd/ops.h"
#include "test/autograd/gradcheck_table.h"

namespace ringlet::test {

Table normalizations() {
  Table table;
  const auto add = [&](const std::string& what, const Tensor& x, double eps, bool bound_rules) {
    const int64_t C = x.dim(-1);
    const Tensor gamma = positive({C}, "gamma"), beta = at({C}, "beta");
    for (const bool clear : {false, true}) {
      const auto form = clear ? layer_norm_clear : static_cast<Var (*)(const Var&, const Var&, const Var&, double)>(layer_norm);
      const std::string name = (clear ? "layer_norm_clear " : "layer_norm ") + what;
      table.push_back({name, {x, gamma, beta}, [=](const Vars& v) { return form(v[0], v[1], v[2], eps); }, bound_rules});
      table.push_back({name + ", no bias", {x, gamma}, [=](const Vars& v) { return form(v[0], v[1], {}, eps); }, bound_rules});
    }
  };
  for (const Shape& shape : {Shape{7}, Shape{3, 5}, Shape{2, 2, 4}, Shape{1, 2}, Shape{3, 1}, Shape{0, 4}}) {
    add(to_text(shape), at(shape), 1e-5, false);
  }
  add("constant row", Tensor::full({1, 4}, 0.7, DType::F64), 1e-5, true);
  add("near-constant row", Tensor::from<double>({0.5, 0.501, 0.499, 0.5}, {1, 4}), 1e-5, true);
  add("large eps", at({2, 3}), 0.5, false);
  return table;
}

Table losses() {
  Table table;
  const auto add = [&](std::string what, const Shape& logits, const Tensor& targets) {
    table.push_back(
        {message("cross_entropy {}", what), {at(logits)}, [=](const Vars& v) { return cross_entropy(v[0], targets).sum; }});
  };
  add("[4, 7]", {4, 7}, ids({0, 6, 3, 3}, {4}));
  add("[2, 3, 5]", {2, 3, 5}, ids({0, 4, 2, 1, 1, 3}, {2, 3}));
  add("V = 1", {3, 1}, ids({0, 0, 0}, {3}));
  add("one row", {1, 2}, ids({1}, {1}));
  add("no leading dim", {5}, ids({4}, {}));
  add("some ignored", {3, 5}, ids({2, kIgnoreIndex, 0}, {3}));
  add("all ignored", {2, 5}, ids({kIgnoreIndex, kIgnoreIndex}, {2}));
  add("no rows", {0, 5}, Tensor::zeros({0}, DType::I32));
  table.push_back({"cross_entropy of a transpose", {at({5, 3})}, [](const Vars& v) {
                     return cross_entropy(transpose(v[0], 0, 1), ids({4, 0, 2}, {3})).sum;
                   }});
  table.push_back({"cross_entropy, weighted", {at({3, 5}), at({}, "w")}, [](const Vars& v) {
                     return cross_entropy(v[0], ids({4, 0, 2}, {3})).sum * v[1];
                   }});
  for (const Shape& shape : {Shape{1}, Shape{5, 7}, Shape{0, 7}}) {
    table.push_back({message("dropout {}", shape), {at(shape)}, [](const Vars& v) {
                       return dropout(v[0], 0.4, RandomStream(1, "dropout"), 11);
                     }});
  }
  const auto embed = [&](std::string what, const Shape& shape, const Tensor& which) {
    table.push_back({message("embedding {}", what), {at(shape)}, [=](const Vars& v) { return embedding(v[0], which); }});
  };
  embed("repeated ids", {4, 2}, ids({2, 2, 0, 2}, {2, 2}));
  embed("one id", {7, 3}, ids({6}, {}));
  embed("one row", {1, 1}, ids({0, 0, 0}, {3}));
  embed("no ids", {4, 3}, Tensor::zeros({2, 0}, DType::I32));
  return table;
}

Table attentions() {
  struct Case {
    std::string what;
    Shape qkv;
    int64_t heads;
    Tensor padding = {};
    AttentionDropout dropout = {};
  };
  const AttentionDropout dropout{.probability = 0.3, .seed = 5, .purpose = "attention", .index = 2};
  const std::vector<Case> cases = {
      {"one of everything", {1, 1, 3}, 1},
      {"odd", {2, 5, 18}, 3},
      {"heads of one channel", {1, 3, 15}, 5},
      {"one head of seven", {1, 2, 21}, 1},
      {"longer than wide", {1, 13, 6}, 2},
      {"batch of none", {0, 3, 6}, 2},
      {"no time", {2, 0, 6}, 2},
      {"dropout", {2, 3, 12}, 2, {}, dropout},
      {"padding on the left, the middle, everywhere", {3, 3, 6}, 1, mask({1, 0, 0, 0, 1, 0, 1, 1, 1}, {3, 3})},
      {"padding and dropout", {2, 3, 6}, 2, mask({1, 0, 0, 0, 0, 1}, {2, 3}), dropout},
  };
  Table table;
  for (const Case& c : cases) {
    table.push_back({message("attention, {}", c.what), {at(c.qkv)}, [=](const Vars& v) {
                       return attention(v[0], c.heads, c.padding, c.dropout);
                     }});
    table.push_back({message("attention_clear, {}", c.what), {at(c.qkv)}, [=](const Vars& v) {
                       return attention_clear(v[0], c.heads, c.padding, c.dropout);
                     }});
  }
  table.push_back(
      {"attention of a transpose", {at({3, 2, 6})}, [](const Vars& v) { return attention(transpose(v[0], 0, 1), 2); }});
  return table;
}

}  // namespace ringlet::test
