// The walk through the graph: every node once, every contribution once, in any graph.
#include <string>
#include <vector>

#include "autograd/gradcheck.h"
#include "autograd/hooks.h"
#include "autograd/ops.h"
#include "autograd/record.h"
#include "tensor/ops/arithmetic.h"
#include "test/autograd/values.h"
#include "test/support/catch.h"

using namespace ringlet;
using namespace ringlet::test;
using Catch::Matchers::Contains;

namespace {

// A graph over scalars: node k adds two earlier nodes (of a leaf a, a leaf b and what came before), each with a small weight.
struct Step {
  size_t first, second;
  double first_weight, second_weight;
};

std::vector<Step> random_steps(size_t count, uint64_t seed) {
  const RandomStream stream(seed, "steps");
  std::vector<Step> steps;
  for (uint64_t k = 0; k < count; ++k) {
    const auto weight = [&](uint64_t i) { return static_cast<double>(stream.below(4 * k + i, 5)) - 2.0; };
    steps.push_back({stream.below(4 * k, k + 2), stream.below(4 * k + 1, k + 2), weight(2), weight(3)});
  }
  return steps;
}

// ∂(last node)/∂(leaf), carried forward through the same steps: a second way, which knows nothing of the engine.
double derivative(const std::vector<Step>& steps, size_t leaf) {
  std::vector<double> tangent = {leaf == 0 ? 1.0 : 0.0, leaf == 1 ? 1.0 : 0.0};
  for (const Step& s : steps) {
    tangent.push_back(s.first_weight * tangent[s.first] + s.second_weight * tangent[s.second]);
  }
  return tangent.back();
}

}  // namespace

TEST_CASE("Any acyclic graph: the gradient is the sum over all paths, exactly") {
  int differ_from_zero = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<Step> steps = random_steps(1 + seed % 24, seed);
    std::vector<Var> node = {leaf(3.0), leaf(5.0)};
    for (const Step& s : steps) {
      node.push_back(node[s.first] * s.first_weight + node[s.second] * s.second_weight);
    }
    backward(node.back());
    for (const size_t i : {0, 1}) {
      const Tensor grad = node[i].grad();
      INFO("seed " << seed << ", leaf " << i);
      CHECK((grad.defined() ? grad.item() : 0.0) == derivative(steps, i));
      differ_from_zero += derivative(steps, i) != 0.0 ? 1 : 0;
    }
  }
  CHECK(differ_from_zero > 200);  // the table is not a table of zeros
}

TEST_CASE("Graphs with reuse agree with finite differences") {
  struct Row {
    std::string what;
    std::function<Var(const Var& a, const Var& b)> f;
  };
  const std::vector<Row> table = {
      {"the same variable twice in one op", [](const Var& a, const Var& b) { return a * a + b / b + (b - b); }},
      {"a diamond",
       [](const Var& a, const Var& b) {
         const Var h = a * b;
         return tanh(h) * sigmoid(h);
       }},
      {"a diamond of diamonds",
       [](const Var& a, const Var& b) {
         Var h = a + b;
         for (int i = 0; i < 5; ++i) {
           h = tanh(h) * (h + 1.0) - h;
         }
         return h;
       }},
      {"arms of unequal length", [](const Var& a, const Var& b) { return a * exp(tanh(sigmoid(a * b))) + a; }},
      {"an input that is also an intermediate's factor",
       [](const Var& a, const Var& b) {
         const Var h = square(a);
         return h * a * h + h * b;
       }},
      {"an arm that is thrown away",
       [](const Var& a, const Var& b) {
         const Var unused = exp(a * b);
         return a * unused.detach() * 0.0 + b * a;
       }},
      {"matmul with itself", [](const Var& a, const Var& b) { return matmul(a, a) + matmul(b, transpose(b, 0, 1)); }},
  };
  for (const Row& row : table) {
    const Var a = leaf(uniform({2, 2}, "a", 0.5, 1.5)), b = leaf(uniform({2, 2}, "b", 0.5, 1.5));
    const GradcheckResult result = gradcheck(
        row.what, [&] { return row.f(a, b); }, std::vector<CheckedInput>{{"a", a}, {"b", b}});
    INFO(result.text);
    CHECK(result.ok);
  }
}

TEST_CASE("Every node is walked once, however many consumers it has") {
  int walked = 0;
  const Var x = leaf(2.0);
  Var h = on_backward(x, [&] { ++walked; });
  for (int i = 0; i < 20; ++i) {
    h = h + h;  // 2^20 paths
  }
  backward(h);
  CHECK(walked == 1);
  CHECK(x.grad().item() == 1048576.0);
}

TEST_CASE("A second backward is an error, or with keep_graph exactly the same again [D7]") {
  const Var a = leaf(2.0), b = leaf(3.0);
  const Var f = a * b + a;
  SECTION("without keep_graph") {
    backward(f);
    CHECK(a.grad().item() == 4.0);
    CHECK(b.grad().item() == 2.0);
    CHECK_THROWS_WITH(backward(f), Contains("the graph was already freed at add"));
    CHECK(a.grad().item() == 4.0);
  }
  SECTION("with keep_graph") {
    backward(f, {}, true);
    backward(f, {}, true);
    CHECK(a.grad().item() == 8.0);  // 11 where inner gradients are not cleared
    CHECK(b.grad().item() == 4.0);
    backward(f);
    CHECK(a.grad().item() == 12.0);
    CHECK_THROWS_AS(backward(f), Error);
  }
  SECTION("a part of the graph that was freed by another root") {
    const Var h = a * b, g = h * 2.0;
    backward(h);
    CHECK_THROWS_WITH(backward(g), Contains("already freed at multiply"));
  }
}

TEST_CASE("A tied variable gets the sum of its uses [F1]") {
  const Var w = leaf(1.0);
  backward(w * 2.0 + w * 5.0);
  CHECK(w.grad().item() == 7.0);
}

TEST_CASE("One variable under two handles is one variable [F3]") {
  const Var w = leaf(1.0);
  const Var other = w;  // NOLINT(performance-unnecessary-copy-initialization): the copy is what is tested
  backward(w * 2.0 + other * 5.0);
  CHECK(w.same_as(other));
  CHECK(w.grad().item() == 7.0);
  CHECK(other.grad().item() == 7.0);
}

TEST_CASE("A seed is ∂L/∂root, of its shape and dtype; a scalar root has the seed 1") {
  const Var x = leaf(Tensor::from<double>({1, 2, 3}, {3}));
  const Var y = x * 2.0;
  CHECK_THROWS_WITH(backward(y), Contains("one element, or a seed must be given; got shape [3]"));
  CHECK_THROWS_WITH(backward(y, Tensor::zeros({2}, DType::F64)), Contains("seed: shape must be [3], got [2]"));
  CHECK_THROWS_WITH(backward(y, Tensor::zeros({3})), Contains("seed: dtype must be f64, got f32"));
  CHECK_THROWS_WITH(backward(Var(Tensor::zeros({}))), Contains("does not require a gradient"));
  CHECK_THROWS_AS(backward(Var()), Error);
  const Tensor seed = Tensor::from<double>({1, 10, 100}, {3});
  backward(y, seed);
  CHECK(x.grad().to_vector() == std::vector<double>{2, 20, 200});
  CHECK(seed.to_vector() == std::vector<double>{1, 10, 100});
}

TEST_CASE("A leaf may be the root") {
  const Var x = leaf(4.0);
  backward(x);
  backward(x);
  CHECK(x.grad().item() == 2.0);
}

TEST_CASE("A backward inside a backward leaves the outer walk alone") {
  const Var w = leaf(3.0);
  const Var h = on_backward(w * 2.0, [&] {
    const EnableGrad enable;
    backward(w * w);  // meets w, which the outer walk still has to visit
  });
  backward(h * h + w);
  CHECK(grad_enabled());
  CHECK(w.grad().item() == 6.0 + (2.0 * 6.0 * 2.0 + 1.0));
}

namespace {

struct Miscounting {
  static constexpr std::string_view kName = "miscounting";
  Grads backward(const Tensor& dy) const { return {dy, dy}; }
};

struct Misshapen {
  static constexpr std::string_view kName = "misshapen";
  Grads backward(const Tensor&) const { return {Tensor::zeros({2}, DType::F64)}; }
};

struct Silent {
  static constexpr std::string_view kName = "silent";
  Grads backward(const Tensor&) const { return {Tensor()}; }
};

}  // namespace

TEST_CASE("A rule that breaks its contract is named") {
  const Var x = leaf(1.0);
  CHECK_THROWS_WITH(backward(record(Tensor::full({}, 1, DType::F64), {x}, Miscounting{})),
                    Contains("miscounting gave 2 gradients for 1 inputs"));
  CHECK_THROWS_WITH(backward(record(Tensor::full({}, 1, DType::F64), {x}, Misshapen{})),
                    Contains("misshapen gave a gradient [2] f64 for an input [] f64"));
}

TEST_CASE("Where no contribution arrives the walk goes on, and a leaf behind it is ready all the same") {
  Var x = leaf(2.0), w = leaf(3.0);
  int ready = 0;
  w.on_gradient_ready([&] { ++ready; });
  const Var nothing = record(x.data() + w.data(), {exp(x * w)}, Silent{});
  backward(nothing + x);
  CHECK(x.grad().item() == 1.0);
  CHECK_FALSE(w.grad().defined());
  CHECK(ready == 1);
}
