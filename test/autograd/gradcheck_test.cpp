// The gradient check itself: it finds what is wrong, says where, leaves everything as it was, and passes what is right.
#include <cmath>
#include <string>
#include <vector>

#include "autograd/gradcheck.h"
#include "autograd/ops.h"
#include "autograd/record.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/math.h"
#include "test/autograd/values.h"
#include "test/support/catch.h"

using namespace ringlet;
using namespace ringlet::test;
using Catch::Matchers::Contains;

namespace {

// y = x², with a gradient that is wrong by `error` at element `where`.
struct WrongSquare {
  static constexpr std::string_view kName = "wrong_square";
  Tensor x;
  int64_t where;
  double error;
  Grads backward(const Tensor& dy) const {
    Tensor dx = dy * x * 2.0;
    dx.mutable_data<double>()[where] += error * dy.at(where);
    return {dx};
  }
};

Var wrong_square(const Var& x, int64_t where, double error) {
  return record(x.data() * x.data(), {x}, WrongSquare{x.data().clone(), where, error});
}

struct Forgetful {
  static constexpr std::string_view kName = "forgetful";
  Grads backward(const Tensor&) const { return {Tensor()}; }
};

std::vector<CheckedInput> inputs(const Var& x) { return {{"x", x}}; }

}  // namespace

TEST_CASE("A wrong gradient is found, and the message names op, input, index, got and expected") {
  const Var a = leaf(Tensor::full({2, 3}, 1.0, DType::F64)), b = leaf(Tensor::full({2, 3}, 0.5, DType::F64));
  const GradcheckResult result = gradcheck(
      "square", [&] { return b + wrong_square(a, 4, 0.125); }, std::vector<CheckedInput>{{"b", b}, {"a", a}});
  CHECK_FALSE(result.ok);
  CHECK(result.worst == Approx(0.125 / 2).epsilon(1e-6));  // relative to max|n| = 2
  CHECK_THAT(result.text, Contains("gradcheck: square: input a at [1, 1], output at [1, 1]: got 2.125, expected 2 "));
}

TEST_CASE("An error is found from just above the tolerance on, and not below") {
  const Var x = leaf(Tensor::full({3}, 0.25, DType::F64));
  for (const double error : {1.2e-7, 1e-5, -1e-3, 1e9}) {
    CHECK_FALSE(gradcheck(
                    "square", [&] { return wrong_square(x, 1, error); }, inputs(x))
                    .ok);
  }
  CHECK(gradcheck(
            "square", [&] { return wrong_square(x, 1, 0.5e-7); }, inputs(x))
            .ok);
  CHECK(gradcheck(
            "square", [&] { return wrong_square(x, 1, 0.0); }, inputs(x))
            .worst < 1e-9);
  CHECK(gradcheck("square", [&] { return wrong_square(x, 1, 1e-5); }, inputs(x), {.tolerance = 1e-4}).ok);
}

TEST_CASE("NaN and infinity in a gradient, or in the function, are failures") {
  const Var x = leaf(Tensor::full({3}, 0.25, DType::F64));
  for (const double error : {static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    const GradcheckResult result = gradcheck(
        "square", [&] { return wrong_square(x, 1, error); }, inputs(x));
    CHECK_FALSE(result.ok);
    CHECK_THAT(result.text, Contains("at [1]"));
  }
  CHECK_FALSE(gradcheck(
                  "log", [&] { return log(x - 1.0); }, inputs(x))
                  .ok);
}

TEST_CASE("A large function is checked along random directions and at random elements: one wrong element is found") {
  const Var x = leaf(normal({40, 50}, "x"));
  const GradcheckResult right = gradcheck(
      "square", [&] { return wrong_square(x, 0, 0.0); }, inputs(x));
  CHECK(right.ok);
  CHECK(right.worst < 1e-7);
  for (const int64_t where : {int64_t{0}, int64_t{777}, int64_t{1999}}) {
    const GradcheckResult wrong = gradcheck(
        "square", [&] { return wrong_square(x, where, 1.0); }, inputs(x));
    CHECK_FALSE(wrong.ok);
    CHECK_THAT(wrong.text, Contains("square: input x along random direction"));
  }
  // Where every element is wrong, the single elements find it too, and name it.
  const GradcheckResult scaled =
      gradcheck("scaled", [&] { return Var(square(x.data())) + x * 0.0; }, inputs(x), {.directions = 0, .coordinates = 2});
  CHECK_FALSE(scaled.ok);
  CHECK_THAT(scaled.text, Contains("input x at [") && Contains("output combined at random: got 0, expected"));
}

TEST_CASE("A missing gradient is a gradient of zero: right where the function is constant, wrong elsewhere") {
  const Var x = leaf(normal({3}, "x")), unused = leaf(normal({2}, "unused"));
  CHECK(gradcheck(
            "unused", [&] { return x * 1.0; }, std::vector<CheckedInput>{{"x", x}, {"unused", unused}})
            .ok);
  CHECK(gradcheck(
            "constant", [&] { return Var(Tensor::zeros({2}, DType::F64)); }, inputs(x))
            .ok);
  CHECK_FALSE(gradcheck(
                  "forgetful", [&] { return record(x.data() * 2.0, {x}, Forgetful{}); }, inputs(x))
                  .ok);
}

TEST_CASE("Afterwards the inputs hold the values and gradients that they held before, also when f throws") {
  Var x = leaf(normal({3}, "x"));
  Tensor flat = Tensor::full({5}, 7.0, DType::F64);
  x.set_grad(flat.narrow(0, 1, 3));
  const std::vector<double> before = x.data().to_vector();
  CHECK(gradcheck(
            "square", [&] { return square(x); }, inputs(x))
            .ok);
  int calls = 0;
  CHECK_THROWS_WITH(gradcheck(
                        "failing",
                        [&] {
                          check(++calls < 4, "on purpose");
                          return square(x);
                        },
                        inputs(x)),
                    Contains("on purpose"));
  CHECK(x.data().to_vector() == before);
  CHECK(x.grad().shares_storage(flat));
  CHECK(flat.to_vector() == std::vector<double>(5, 7.0));
}

TEST_CASE("Where truncation is larger than the tolerance the computed bound rules, and is said") {
  const Var x = leaf(Tensor::full({1}, 0.3, DType::F64));
  const GradcheckResult result = gradcheck(
      "steep", [&] { return tanh(x * 2000.0 - 600.0); }, inputs(x));
  CHECK(result.ok);
  CHECK(result.worst > 1e-7);
  CHECK(result.bound > result.worst);
  CHECK(result.bound < 1e-3);
  CHECK_THAT(result.text, Contains("the computed bound of truncation and rounding"));
  // And it is the bound of the differences, so it does not excuse a wrong rule.
  CHECK_FALSE(gradcheck(
                  "steep", [&] { return tanh(x * 2000.0 - 600.0) + wrong_square(x, 0, 5.0); }, inputs(x))
                  .ok);
}

TEST_CASE("Only f64 leaves that require a gradient can be checked") {
  const Var single = leaf(Tensor::zeros({2})), constant(Tensor::zeros({2}, DType::F64)), x = leaf(1.0);
  for (const Var& wrong : {single, constant, x * 2.0, leaf(normal({2, 3}, "t").transpose(0, 1))}) {
    CHECK_THROWS_WITH(gradcheck(
                          "op", [&] { return wrong; }, std::vector<CheckedInput>{{"it", wrong}}),
                      Contains("input it must be"));
  }
  CHECK_THROWS_WITH(gradcheck(
                        "cast", [&] { return cast(x, DType::F32); }, inputs(x)),
                    Contains("dtype must be f64, got f32"));
}
