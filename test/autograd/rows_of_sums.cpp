// Rows of the gradient table: products, reductions, softmax.
#include <cmath>

#include "autograd/ops.h"
#include "test/autograd/gradcheck_table.h"

namespace ringlet::test {

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

}  // namespace ringlet::test
