// Leaves: where gradients go, who is asked for one, and the hooks that say that one is complete.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "autograd/grad_mode.h"
#include "autograd/hooks.h"
#include "autograd/ops.h"
#include "tensor/ops/arithmetic.h"
#include "test/autograd/values.h"
#include "test/support/catch.h"

using namespace ringlet;
using namespace ringlet::test;
using Catch::Matchers::Contains;

TEST_CASE("Gradients accumulate in place, also in a view of a flat buffer") {
  Tensor flat = Tensor::full({6}, 100.0, DType::F64, Category::Gradients);
  Var a = leaf(Tensor::from<double>({1, 2}, {2})), b = leaf(Tensor::from<double>({3, 4}, {2, 1}));
  a.set_grad(flat.narrow(0, 1, 2));
  b.set_grad(flat.narrow(0, 4, 2).view({2, 1}));
  for (int step = 0; step < 2; ++step) {
    backward(sum(a * 2.0) + sum(b * 3.0));
  }
  CHECK(flat.to_vector() == std::vector<double>{100, 104, 104, 100, 106, 106});
  CHECK(a.grad().shares_storage(flat));
  a.clear_grad();
  CHECK_FALSE(a.grad().defined());
  backward(sum(a * 2.0));
  CHECK(a.grad().to_vector() == std::vector<double>{2, 2});
  CHECK(flat.at(1) == 104);
}

TEST_CASE("A gradient that is made is a category of its own, contiguous, and shares memory with nothing") {
  const auto allocator = std::make_shared<Allocator>();
  const AllocatorScope scope(allocator);
  const Var x = leaf(normal({3, 5}, "x")), y = leaf(normal({3, 5}, "y"));
  backward(sum(x + y));  // both get the same stretched scalar
  CHECK(x.grad().is_contiguous());
  CHECK_FALSE(x.grad().shares_storage(y.grad()));
  CHECK(allocator->ledger().of(Category::Gradients).live == 2 * 15 * 8);
}

TEST_CASE("The gradient-ready hook runs once per backward, after the last contribution") {
  Var early = leaf(2.0), late = leaf(3.0), twice = leaf(5.0);
  std::vector<std::string> order;
  std::vector<double> seen;
  const auto watch = [&](Var& var, const std::string& name) {
    Var* const watched = &var;
    var.on_gradient_ready([&, watched, name] {
      order.push_back(name);
      seen.push_back(watched->grad().item());
    });
  };
  watch(early, "early"), watch(late, "late"), watch(twice, "twice");
  const auto loss = [&] {
    Var h = early * twice;
    for (int i = 0; i < 3; ++i) {
      h = h * late + twice;  // h = 10·27 + 5·(9 + 3 + 1)
    }
    return h;
  };
  backward(loss());
  CHECK(order.size() == 3);
  CHECK(order[0] == "late");  // its last use lies nearest to the loss
  CHECK(seen == std::vector<double>{late.grad().item(), seen[1], seen[2]});
  CHECK(early.grad().item() == 135.0);
  CHECK(late.grad().item() == 3 * 10 * 9.0 + 5 * (6 + 1));
  CHECK(twice.grad().item() == 2 * 27.0 + 13);
  for (size_t i = 0; i < 3; ++i) {
    const double complete = order[i] == "early" ? 135.0 : order[i] == "late" ? 305.0 : 67.0;
    CHECK(seen[i] == complete);
  }
  backward(loss());
  CHECK(order.size() == 6);
}

TEST_CASE("Hooks of one leaf run in the order in which they were added") {
  const Var x = leaf(1.0);
  std::string order;
  Var(x).on_gradient_ready([&] { order += "a"; });
  Var(x).on_gradient_ready([&] { order += "b"; });
  backward(x + x);
  CHECK(order == "ab");
}

TEST_CASE("Unused parameters get no gradient and no hook; what they held stays") {
  Var used = leaf(1.0), unused = leaf(2.0);
  int called = 0;
  unused.on_gradient_ready([&] { ++called; });
  unused.set_grad(Tensor::full({}, 9.0, DType::F64));
  backward(used * 3.0);
  CHECK(called == 0);
  CHECK(unused.grad().item() == 9.0);
}

TEST_CASE("Frozen parameters get no gradient, and others the same as before") {
  Var w = leaf(3.0), x = leaf(2.0);
  w.set_requires_grad(false);
  backward(w * x * x);
  CHECK(x.grad().item() == 12.0);
  CHECK_THROWS_WITH(w.grad(), Contains("only for leaves that require a gradient, got one that requires none"));
  w.set_requires_grad(true);
  backward(w * x);
  CHECK(w.grad().item() == 2.0);
  CHECK(w.data().item() == 3.0);
}

TEST_CASE("A frozen operand keeps nothing alive: the other's tensor is not saved for it") {
  const auto allocator = std::make_shared<Allocator>();
  const AllocatorScope scope(allocator);
  const Var w(normal({8, 8}, "w")), b = leaf(normal({8}, "b"));
  const auto live = [&] { return allocator->ledger().of(Category::Activations).live; };
  const std::vector<std::function<Var(const Var&)>> table = {
      [&](const Var& x) { return linear(x, w, b); },
      [&](const Var& x) { return linear_transposed(x * b, w); },
      [&](const Var& x) { return matmul(x * b, w); },
      [&](const Var& x) { return x * b * Var(w.data().narrow(0, 0, 1)); },
      [&](const Var& x) { return b - x; },
  };
  for (size_t i = 0; i < table.size(); ++i) {
    INFO("row " << i);
    const int64_t before = live();
    const Var y = table[i](Var(normal({100, 8}, "x")));
    const int64_t kept = i == 0 || i == 4 ? 1 : 2;  // y alone, or y and the x that db needs
    CHECK(live() - before == kept * 100 * 8 * 8);
  }
}

TEST_CASE("Under NoGrad nothing is recorded, and nothing is saved") {
  const Var x = leaf(2.0);
  const int64_t nodes = Node::live();
  {
    const NoGrad no_grad;
    const Var y = x * x;
    CHECK_FALSE(y.requires_grad());
    CHECK(y.is_leaf());
    CHECK(Node::live() == nodes);
    { const NoGrad again; }
    CHECK_FALSE(grad_enabled());
  }
  CHECK(grad_enabled());
  CHECK((x * x).requires_grad());
  try {
    const NoGrad no_grad;
    throw Error("out");
  } catch (const Error&) {
    CHECK(grad_enabled());
  }
}

TEST_CASE("What is made of constants alone records nothing; detach cuts") {
  const int64_t nodes = Node::live();
  const Var c(Tensor::full({}, 2.0, DType::F64));
  CHECK_FALSE((c * c + exp(c)).requires_grad());
  CHECK(Node::live() == nodes);
  const Var x = leaf(3.0);
  const Var y = x * x;
  CHECK(y.detach().data().shares_storage(y.data()));
  backward(y.detach() * x);
  CHECK(x.grad().item() == 9.0);
}

TEST_CASE("A leaf can be pointed at other memory of its shape and dtype") {
  Tensor flat = Tensor::from<double>({0, 5, 7, 0}, {4});
  Var w = leaf(Tensor::from<double>({1, 2}, {2}));
  w.set_data(flat.narrow(0, 1, 2));
  CHECK(w.data().shares_storage(flat));
  backward(sum(w * w));
  CHECK(w.grad().to_vector() == std::vector<double>{10, 14});
  CHECK_THROWS_WITH(w.set_data(flat), Contains("shape must be [2], got [4]"));
  CHECK_THROWS_WITH(w.set_data(Tensor::zeros({2})), Contains("dtype must be f64, got f32"));
}

TEST_CASE("What only leaves have is refused elsewhere, by name") {
  const Var x = leaf(1.0);
  Var y = x * 2.0, constant(Tensor::zeros({2}));
  CHECK_THROWS_WITH(y.grad(), Contains("got the output of an op"));
  CHECK_THROWS_WITH(y.set_data(Tensor()), Contains("only for leaves, got the output of scale"));
  CHECK_THROWS_WITH(y.set_requires_grad(false), Contains("only for leaves, got the output of scale"));
  CHECK_THROWS_WITH(constant.set_grad(Tensor()), Contains("got one that requires none"));
  CHECK_THROWS_WITH(constant.on_gradient_ready([] {}), Contains("on_gradient_ready"));
  CHECK_THROWS_WITH(leaf(Tensor::zeros({2}, DType::I32)), Contains("gradients exist for f32 and f64, got i32"));
  CHECK_THROWS_WITH(Var(x).set_grad(Tensor::zeros({3}, DType::F64)), Contains("shape must be [], got [3]"));
  CHECK_THROWS_WITH(Var(x).set_grad(Tensor::zeros({})), Contains("dtype must be f64, got f32"));
  CHECK_THROWS_WITH(Var().data(), Contains("undefined"));
  CHECK_FALSE(Var().requires_grad());
  constant.set_data(Tensor::full({2}, 1.0));
  CHECK(constant.data().at(0) == 1.0);
}

TEST_CASE("on_backward: f runs when the gradient passes, after all consumers and before all makers") {
  const Var x = leaf(2.0), w = leaf(3.0);
  std::string order;
  Var(w).on_gradient_ready([&] { order += "consumer "; });
  Var(x).on_gradient_ready([&] { order += "maker "; });
  const Var h = on_backward(x * x, [&] {
    CHECK_FALSE(grad_enabled());
    order += "f ";
  });
  backward(h * w + h);
  CHECK(order == "consumer f maker ");
  CHECK(x.grad().item() == 16.0);
  CHECK(h.data().item() == 4.0);
  int called = 0;
  const Var none = on_backward(Var(Tensor::zeros({})), [&] { ++called; });
  CHECK_FALSE(none.requires_grad());
  CHECK_THROWS_AS(on_backward(x, {}), Error);
}
