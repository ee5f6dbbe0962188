// Rows of the gradient table: arithmetic, functions of one number, changes of shape.
#include <string_view>
#include <utility>

#include "autograd/hooks.h"
#include "autograd/ops.h"
#include "test/autograd/gradcheck_table.h"

namespace ringlet::test {

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
  add("permute, cycle of four", {2, 1, 3, 2}, [](const Vars& v) { return permute(v[0], {1, 2, 3, 0}); });
  add("permute, cycle of five", {1, 2, 3, 2, 1}, [](const Vars& v) { return permute(v[0], {2, 3, 4, 0, 1}); });
  add("permute, two cycles", {1, 2, 3, 2, 1}, [](const Vars& v) { return permute(v[0], {3, 0, 4, 1, 2}); });
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

}  // namespace ringlet::test
