// A tensor that was saved for backward and then changed is an error, never a wrong gradient.
#include <functional>
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "tensor/ops/arithmetic.h"
#include "test/autograd/values.h"
#include "test/support/catch.h"

using namespace ringlet;
using namespace ringlet::test;
using Catch::Matchers::Contains;

TEST_CASE("A saved output changed in place is an error, whichever way it was changed [D5]") {
  struct Row {
    std::string what;
    std::function<void(Tensor&)> change;
  };
  const std::vector<Row> table = {
      {"scale_into", [](Tensor& y) { scale_into(y, 2.0); }},
      {"divide_into", [](Tensor& y) { divide_into(y, 2.0); }},
      {"add_into", [](Tensor& y) { add_into(y, y); }},
      {"y[0] = 9", [](Tensor& y) { y.mutable_data<double>()[0] = 9; }},
      {"mutable_span", [](Tensor& y) { y.mutable_span<double>()[1] = 9; }},
      {"fill", [](Tensor& y) { y.fill(9.0); }},
      {"copy_from", [](Tensor& y) { y.copy_from(Tensor::zeros({2}, DType::F64)); }},
      {"fill of a random", [](Tensor& y) { fill_normal(y, RandomStream(1, "x"), 0, 1); }},
      {"through a narrow view", [](Tensor& y) { y.narrow(0, 1, 1).fill(9.0); }},
      {"through a reshaped view",
       [](Tensor& y) {
         y.view({2, 1}).transpose(0, 1).fill(9.0);
       }},
      {"bytes", [](Tensor& y) { y.mutable_raw_data()[0] = std::byte{1}; }},
  };
  for (const Row& row : table) {
    INFO(row.what);
    const Var x = leaf(Tensor::zeros({2}, DType::F64));
    const Var y = sigmoid(x), loss = sum(y);
    Tensor inside = y.data();
    row.change(inside);
    CHECK_THROWS_WITH(backward(loss), Contains("saved for backward has been changed in place"));
    CHECK_FALSE(x.grad().defined());  // silent 0 is the bug
  }
}

TEST_CASE("A saved input changed between forward and backward is an error") {
  struct Row {
    std::string what;
    std::function<Var(const Var& x, const Tensor& ids)> f;
  };
  const std::vector<Row> table = {
      {"multiply", [](const Var& x, const Tensor&) { return x * x; }},
      {"divide", [](const Var& x, const Tensor&) { return 1.0 / x; }},
      {"matmul", [](const Var& x, const Tensor&) { return matmul(x, x); }},
      {"linear", [](const Var& x, const Tensor&) { return linear(x, x); }},
      {"layer_norm",
       [](const Var& x, const Tensor&) { return layer_norm(x, Var(Tensor::full({2}, 1, DType::F64)), {}, 1e-5); }},
      {"gelu", [](const Var& x, const Tensor&) { return gelu(x, GeluForm::Erf); }},
      {"log", [](const Var& x, const Tensor&) { return log(x); }},
      {"cross_entropy", [](const Var& x, const Tensor& ids) { return cross_entropy(x, ids).sum; }},
  };
  for (const Row& row : table) {
    INFO(row.what);
    Var x = leaf(Tensor::full({2, 2}, 1.0, DType::F64));
    const Tensor ids = Tensor::zeros({2}, DType::I32);
    const Var loss = sum(row.f(x, ids));
    Tensor inside = x.data();
    scale_into(inside, 2.0);
    CHECK_THROWS_WITH(backward(loss), Contains("changed in place"));
  }
}

TEST_CASE("Ids and labels are saved too: a loader may not reuse their memory before backward") {
  const Var table = leaf(normal({4, 3}, "table"));
  Tensor ids = Tensor::zeros({2}, DType::I32);
  const Var embedded = sum(embedding(table, ids));
  const Var loss = cross_entropy(table, Tensor::zeros({4}, DType::I32)).sum;
  ids.fill(1);
  CHECK_THROWS_WITH(backward(embedded), Contains("changed in place"));
  backward(loss);
}

TEST_CASE("What no rule saved may be changed; and a clone, or new memory for a leaf, changes nothing that was saved") {
  Var x = leaf(Tensor::full({2}, 3.0, DType::F64));
  const Var y = x + x, loss = sum(y), product = sum(x * x);
  Tensor inside = y.data(), copy = x.data().clone();
  scale_into(inside, 2.0);
  scale_into(copy, 2.0);
  backward(loss);
  CHECK(x.grad().to_vector() == std::vector<double>{2, 2});
  x.set_data(Tensor::full({2}, 50.0, DType::F64));
  backward(product);
  CHECK(x.grad().to_vector() == std::vector<double>{8, 8});  // at the values that forward saw
}
