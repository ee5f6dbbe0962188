// Every op against finite differences: one table, over broadcast, odd and degenerate shapes. A new op is a row.
#include <cmath>
#include <string>
#include <vector>

#include "autograd/gradcheck.h"
#include "autograd/hooks.h"
#include "autograd/ops.h"
#include "test/autograd/values.h"
#include "test/support/catch.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

using Vars = std::vector<Var>;

struct Row {
  std::string what;
  std::vector<Tensor> inputs;
  std::function<Var(const Vars&)> f;
  double tolerance = 1e-7;
  bool bound_rules = false;  // truncation and rounding of the differences themselves exceed the tolerance
};

using Table = std::vector<Row>;

Tensor at(const Shape& shape, std::string_view name = "x") { return normal(shape, name); }
// Away from 0, for what has a pole or a kink there.
Tensor positive(const Shape& shape, std::string_view name = "x") { return uniform(shape, name, 0.5, 2.0); }

Tensor ids(std::initializer_list<int32_t> values, const Shape& shape) { return Tensor::from<int32_t>(values, shape); }
Tensor mask(std::initializer_list<uint8_t> values, const Shape& shape) { return Tensor::from<uint8_t>(values, shape); }

struct Pair {
  Shape a, b;
};

Table arithmetic() {
  const std::vector<Pair> pairs = {{{}, {}},      {{1}, {1}},    {{7}, {7}},          {{2, 1}, {1, 3}},       {{2, 2, 3}, {3}},
                                   {{1}, {5, 4}}, {{5, 4}, {}},  {{3, 1, 2}, {2, 1}}, {{2, 3, 1}, {2, 1, 5}}, {{1, 1}, {1}},
                                   {{0}, {0}},    {{0, 3}, {3}}, {{1, 3}, {0, 3}},    {{0, 1}, {1, 2}}};
  Table table;
  for (const auto& [a, b] : pairs) {
    const std::string shapes = message(" {} {}", a, b);
    const std::vector<Tensor> in = {at(a, "a"), positive(b, "b")};
    table.push_back({"add" + shapes, in, [](const Vars& v) { return v[0] + v[1]; }});
    table.push_back({"subtract" + shapes, in, [](const Vars& v) { return v[0] - v[1]; }});
    table.push_back({"multiply" + shapes, in, [](const Vars& v) { return v[0] * v[1]; }});
    table.push_back({"divide" + shapes, in, [](const Vars& v) { return v[0] / v[1]; }});
  }
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{5, 3}, Shape{0, 2}}) {
    const std::string text = message(" {}", shape);
    const std::vector<Tensor> in = {positive(shape)};
    table.push_back({"negate" + text, in, [](const Vars& v) { return -v[0]; }});
    table.push_back({"x + c, c + x" + text, in, [](const Vars& v) { return square(v[0] + 2.0) + square(0.5 + v[0]); }});
    table.push_back({"x - c, c - x" + text, in, [](const Vars& v) { return square(v[0] - 2.0) + square(0.5 - v[0]); }});
    table.push_back({"x * c, c * x" + text, in, [](const Vars& v) { return square(v[0] * 2.0) + (-0.5 * v[0]); }});
    table.push_back({"x / c, c / x" + text, in, [](const Vars& v) { return square(v[0] / 3.0) + 0.5 / v[0]; }});
    table.push_back({"x with itself" + text, in, [](const Vars& v) { return v[0] * v[0] + v[0] / (v[0] + v[0]) - v[0]; }});
  }
  return table;
}

Table functions() {
  const std::vector<std::pair<std::string_view, Var (*)(const Var&)>> named = {
      {"exp", exp},   {"log", log}, {"sqrt", sqrt},       {"rsqrt", rsqrt}, {"square", square},
      {"tanh", tanh}, {"erf", erf}, {"sigmoid", sigmoid}, {"relu", relu}};
  Table table;
  for (const auto& [name, function] : named) {
    for (const Shape& shape : {Shape{}, Shape{1, 1}, Shape{2, 7}, Shape{0, 3}}) {
      const auto f = function;
      table.push_back({message("{} {}", name, shape), {positive(shape)}, [f](const Vars& v) { return f(v[0]); }});
      table.push_back({message("{} of a transpose {}", name, shape), {positive(shape)}, [f](const Vars& v) {
                         return v[0].rank() < 2 ? f(v[0]) : f(transpose(v[0], 0, 1));
                       }});
      if (name != "log" && name != "sqrt" && name != "rsqrt") {
        table.push_back({message("{} below 0 {}", name, shape), {positive(shape)}, [f](const Vars& v) { return f(-v[0]); }});
      }
    }
  }
  for (const GeluForm form : {GeluForm::Erf, GeluForm::Tanh}) {
    const std::string name = form == GeluForm::Erf ? "gelu, erf " : "gelu, tanh ";
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{3, 7}, Shape{0}}) {
      table.push_back({name + to_text(shape), {at(shape)}, [form](const Vars& v) { return gelu(v[0], form); }});
    }
    table.push_back({name + "far out", {Tensor::from<double>({-40, -6, -2.699, 0, 2.699, 6, 40}, {7})}, [form](const Vars& v) {
                       return gelu(v[0], form);
                     }});
  }
  return table;
}

Table products() {
  const std::vector<Pair> pairs = {{{1, 1}, {1, 1}},       {{2, 3}, {3, 5}},       {{1, 7}, {7, 1}},
                                   {{7, 1}, {1, 5}},       {{2, 3, 4}, {2, 4, 1}}, {{2, 1, 3, 2}, {2, 1, 2, 3}},
                                   {{0, 3}, {3, 2}},       {{2, 3}, {3, 0}},       {{2, 0}, {0, 3}},
                                   {{0, 2, 3}, {0, 3, 2}}, {{2, 0, 3}, {2, 3, 2}}};
  Table table;
  for (const auto& [a, b] : pairs) {
    const std::string shapes = message(" {} {}", a, b);
    const std::vector<Tensor> in = {at(a, "a"), at(b, "b")};
    table.push_back({"matmul" + shapes, in, [](const Vars& v) { return matmul(v[0], v[1]); }});
    table.push_back({"matmul of transposes" + shapes, in,
                     [](const Vars& v) { return matmul(transpose(v[1], -2, -1), transpose(v[0], -2, -1)); }});
  }
  const std::vector<Pair> linears = {{{3}, {3, 2}},       {{1, 1}, {1, 1}},       {{5, 3}, {3, 7}},
                                     {{2, 3, 4}, {4, 5}}, {{2, 1, 2, 3}, {3, 1}}, {{0, 3}, {3, 2}},
                                     {{2, 0, 3}, {3, 2}}, {{4, 0}, {0, 3}},       {{2, 3}, {3, 0}}};
  for (const auto& [x, w] : linears) {
    const std::string shapes = message(" {} {}", x, w);
    const Tensor in = at(x), weight = at(w, "w"), bias = at({w[1]}, "b"), turned = at({w[1], w[0]}, "wt");
    table.push_back({"linear" + shapes, {in, weight, bias}, [](const Vars& v) { return linear(v[0], v[1], v[2]); }});
    table.push_back({"linear without bias" + shapes, {in, weight}, [](const Vars& v) { return linear(v[0], v[1]); }});
    table.push_back({"linear_transposed" + shapes, {in, turned}, [](const Vars& v) { return linear_transposed(v[0], v[1]); }});
  }
  table.push_back({"linear, x a transpose", {at({3, 5}), at({3, 2}, "w")}, [](const Vars& v) {
                     return linear(transpose(v[0], 0, 1), v[1]);
                   }});
  table.push_back({"linear, x frozen", {at({3, 2}, "w"), at({2}, "b")}, [](const Vars& v) {
                     return linear(Var(at({5, 3})), v[0], v[1]);
                   }});
  table.push_back({"linear, W frozen", {at({5, 3}), at({2}, "b")}, [](const Vars& v) {
                     return linear(v[0], Var(at({3, 2}, "w")), v[1]);
                   }});
  table.push_back({"x·Wᵀ after rows of W: tied", {at({5, 3}, "w")}, [](const Vars& v) {
                     return linear_transposed(embedding(v[0], ids({4, 0, 4}, {3})), v[0]);
                   }});
  return table;
}

Table shapes() {
  Table table;
  const auto add = [&](std::string what, const Shape& shape, std::function<Var(const Vars&)> f) {
    table.push_back({std::move(what), {at(shape)}, std::move(f)});
  };
  add("reshape", {2, 6}, [](const Vars& v) { return reshape(v[0], {3, -1}); });
  add("reshape of a transpose", {2, 3}, [](const Vars& v) { return reshape(transpose(v[0], 0, 1), {6}); });
  add("reshape to a scalar", {1, 1}, [](const Vars& v) { return reshape(v[0], {}); });
  add("reshape of nothing", {0, 3}, [](const Vars& v) { return reshape(v[0], {3, 0}); });
  add("transpose", {2, 3, 5}, [](const Vars& v) { return transpose(v[0], 0, -1); });
  add("transpose in place", {2, 3}, [](const Vars& v) { return transpose(v[0], 1, 1); });
  add("permute, cycle of three", {2, 3, 5}, [](const Vars& v) { return permute(v[0], {2, 0, 1}); });
  add("permute, cycle of five", {1, 2, 3, 2, 1}, [](const Vars& v) { return permute(v[0], {3, 0, 4, 1, 2}); });
  add("permute of heads", {2, 3, 2, 2}, [](const Vars& v) { return permute(v[0], {0, 2, 1, 3}); });
  add("permute of nothing", {0, 2}, [](const Vars& v) { return permute(v[0], {1, 0}); });
  add("narrow", {3, 7}, [](const Vars& v) { return narrow(v[0], 1, 2, 3); });
  add("narrow, negative dim", {3, 7}, [](const Vars& v) { return narrow(v[0], -2, 1, 1); });
  add("narrow to nothing", {3, 2}, [](const Vars& v) { return narrow(v[0], 0, 3, 0); });
  add("narrow twice, overlapping", {5}, [](const Vars& v) { return narrow(v[0], 0, 0, 3) * narrow(v[0], 0, 2, 3); });
  add("expand", {2, 1, 3}, [](const Vars& v) { return expand(v[0], {5, 2, 4, 3}); });
  add("expand of a scalar", {}, [](const Vars& v) { return expand(v[0], {2, 3}); });
  add("expand to nothing", {1, 3}, [](const Vars& v) { return expand(v[0], {0, 3}); });
  add("concat with itself", {2, 3}, [](const Vars& v) { return concat({v[0], square(v[0]), v[0]}, 1); });
  table.push_back({"concat", {at({2, 3}, "a"), at({1, 3}, "b"), at({0, 3}, "c")}, [](const Vars& v) {
                     return concat({v[0], v[1], v[2]}, -2);
                   }});
  table.push_back({"concat of one", {at({1})}, [](const Vars& v) { return concat({v[0]}, 0); }});
  add("masked_fill", {2, 3}, [](const Vars& v) { return masked_fill(v[0], mask({0, 1, 0, 1, 1, 0}, {2, 3}), 4.0); });
  add("masked_fill, mask stretched", {2, 3}, [](const Vars& v) { return masked_fill(v[0], mask({0, 1, 0}, {3}), -2.0); });
  add("masked_fill of a transpose", {3, 2}, [](const Vars& v) {
    return masked_fill(transpose(v[0], 0, 1), mask({1, 0}, {2, 1}), 0.0);
  });
  add("masked_fill of nothing", {0, 3}, [](const Vars& v) { return masked_fill(v[0], mask({1, 0, 1}, {3}), 1.0); });
  add("cast to f64", {2, 3}, [](const Vars& v) { return cast(v[0], DType::F64); });
  add("on_backward", {2, 3}, [](const Vars& v) { return on_backward(v[0], [] {}); });
  return table;
}

Table reductions() {
  Table table;
  const auto add = [&](std::string what, const Shape& shape, std::function<Var(const Vars&)> f) {
    table.push_back({std::move(what), {at(shape)}, std::move(f)});
  };
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{7, 3}, Shape{2, 1, 5}}) {
    add(message("sum {}", shape), shape, [](const Vars& v) { return sum(v[0]); });
    add(message("mean {}", shape), shape, [](const Vars& v) { return mean(v[0]); });
  }
  for (const int dim : {0, 1, 2, -1, -2}) {
    add(message("sum over dim {}", dim), {2, 3, 5}, [dim](const Vars& v) { return sum(v[0], dim); });
    add(message("mean over dim {}", dim), {2, 3, 5}, [dim](const Vars& v) { return mean(v[0], dim); });
  }
  add("sum of a permuted", {2, 3, 5}, [](const Vars& v) { return sum(permute(v[0], {2, 0, 1}), 1); });
  add("sum of nothing", {0, 3}, [](const Vars& v) { return sum(v[0]); });
  add("sum over an empty dim", {0, 3}, [](const Vars& v) { return sum(v[0], 0); });
  add("mean beside an empty dim", {0, 3}, [](const Vars& v) { return mean(v[0], 1); });
  for (const Shape& shape : {Shape{1}, Shape{7}, Shape{3, 5}, Shape{2, 3, 1}, Shape{0, 3}, Shape{3, 0}}) {
    add(message("softmax {}", shape), shape, [](const Vars& v) { return softmax(v[0]); });
  }
  add("softmax of a transpose", {3, 5}, [](const Vars& v) { return softmax(transpose(v[0], 0, 1)); });
  add("softmax, some masked", {2, 3}, [](const Vars& v) {
    return softmax(masked_fill(v[0], mask({0, 1, 0, 1, 1, 1}, {2, 3}), -INFINITY));
  });
  return table;
}

Table normalizations() {
  Table table;
  const auto add = [&](const std::string& what, const Tensor& x, double eps, bool bound_rules) {
    const int64_t C = x.dim(-1);
    const Tensor gamma = positive({C}, "gamma"), beta = at({C}, "beta");
    for (const bool clear : {false, true}) {
      const auto form = clear ? layer_norm_clear : static_cast<Var (*)(const Var&, const Var&, const Var&, double)>(layer_norm);
      const std::string name = (clear ? "layer_norm_clear " : "layer_norm ") + what;
      table.push_back({name, {x, gamma, beta}, [=](const Vars& v) { return form(v[0], v[1], v[2], eps); }, 1e-7, bound_rules});
      table.push_back(
          {name + ", no bias", {x, gamma}, [=](const Vars& v) { return form(v[0], v[1], {}, eps); }, 1e-7, bound_rules});
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

void check_all(const Table& table) {
  for (const Row& row : table) {
    std::vector<CheckedInput> inputs;
    Vars vars;
    for (const Tensor& input : row.inputs) {
      vars.push_back(leaf(input.clone()));
      inputs.push_back({message("{}", inputs.size()), vars.back()});
    }
    const GradcheckResult result = gradcheck(row.what, [&] { return row.f(vars); }, inputs, {.tolerance = row.tolerance});
    INFO(row.what);
    INFO(result.text);
    CHECK(result.ok);
    if (row.bound_rules) {
      CHECK(result.bound > row.tolerance);
      WARN(result.text);  // the bound that rules is printed
    } else {
      CHECK(result.bound == row.tolerance);
    }
  }
}

}  // namespace

TEST_CASE("The gradient of every op is its derivative", "[gradcheck]") {
  SECTION("arithmetic") { check_all(arithmetic()); }
  SECTION("functions") { check_all(functions()); }
  SECTION("products") { check_all(products()); }
  SECTION("shapes") { check_all(shapes()); }
  SECTION("reductions and softmax") { check_all(reductions()); }
  SECTION("LayerNorm") { check_all(normalizations()); }
  SECTION("attention") { check_all(attentions()); }
  SECTION("cross-entropy, dropout, embedding") { check_all(losses()); }
}
