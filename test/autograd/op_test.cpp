// Values of gradients that are known by hand, and the errors of ops.
#include <cmath>
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "tensor/ops/arithmetic.h"
#include "test/autograd/values.h"
#include "test/support/catch.h"

using namespace ringlet;
using namespace ringlet::test;
using Catch::Matchers::Contains;

namespace {

using Values = std::vector<double>;

Tensor ids(std::initializer_list<int32_t> values, const Shape& shape) { return Tensor::from<int32_t>(values, shape); }

}  // namespace

TEST_CASE("A stretched operand gets the sum over the stretched dims, in its own shape [D1]") {
  const Var a = leaf(Tensor::from<double>({1, 2}, {2, 1})), b = leaf(Tensor::from<double>({3, 4, 5}, {1, 3}));
  backward(sum(a * b));
  CHECK(a.grad().shape() == Shape{2, 1});
  CHECK(a.grad().to_vector() == Values{12, 12});
  CHECK(b.grad().shape() == Shape{1, 3});
  CHECK(b.grad().to_vector() == Values{3, 3, 3});

  const Var bias = leaf(normal({3}, "bias"));
  backward(sum(Var(normal({2, 2, 3}, "x")) + bias));
  CHECK(bias.grad().to_vector() == Values{4, 4, 4});

  const Var scale = leaf(Tensor::full({1}, 2.0, DType::F64)), x = leaf(Tensor::full({5, 4}, 3.0, DType::F64));
  backward(sum(scale * x));
  CHECK(scale.grad().shape() == Shape{1});
  CHECK(scale.grad().to_vector() == Values{60});
  CHECK(x.grad().to_vector() == Values(20, 2.0));
  CHECK_THROWS_WITH(x + Var(normal({3}, "y")), Contains("do not broadcast, [5, 4] and [3]"));
  CHECK_THROWS_WITH(x + Var(Tensor::zeros({5, 4})), Contains("dtypes differ, f64 and f32"));
}

TEST_CASE("Repeated ids add up; rows of ids that do not occur stay exactly zero [D3]") {
  const Var table = leaf(normal({4, 2}, "table"));
  backward(sum(embedding(table, ids({2, 2, 0, 2}, {4}))));
  CHECK(table.grad().to_vector() == Values{1, 1, 0, 0, 3, 3, 0, 0});
}

TEST_CASE("An id that occurs 700 times gets 700 contributions, with the same bits in every run [D4]") {
  Tensor seven = Tensor::full({700}, 7, DType::I32);
  for (const DType dtype : {DType::F32, DType::F64}) {
    Values first;
    for (int repeat = 0; repeat < 5; ++repeat) {
      const Var table = leaf(Tensor::zeros({9, 3}, dtype));
      backward(embedding(table, seven), Tensor::full({700, 3}, 1.0, dtype));
      CHECK(table.grad().narrow(0, 7, 1).to_vector() == Values{700, 700, 700});
      const Var again = leaf(Tensor::zeros({9, 3}, dtype));
      backward(embedding(again, seven), normal({700, 3}, "dy", dtype));
      first = repeat == 0 ? again.grad().to_vector() : first;
      CHECK(again.grad().to_vector() == first);
    }
  }
  const Var weight = leaf(Tensor::zeros({9, 3}));  // rounded to bf16 on the way: the sum is still taken in fp32
  backward(round_to_bf16(embedding(round_to_bf16(weight), seven)), Tensor::full({700, 3}, 1.0));
  CHECK(weight.grad().narrow(0, 7, 1).to_vector() == Values{700, 700, 700});
}

TEST_CASE("An id outside of the table is an error that names position, id and V [B8]") {
  const Var table = leaf(normal({4, 2}, "table"));
  for (const int32_t wrong : {4, -1, kIgnoreIndex, 65535}) {
    CHECK_THROWS_WITH(embedding(table, ids({0, 0, wrong}, {3})),
                      Contains("id " + std::to_string(wrong)) && Contains("position 2") && Contains("V = 4"));
  }
}

TEST_CASE("LayerNorm survives large means and constant rows [C1] [C2]") {
  const Var ones(Tensor::full({4}, 1.0)), half(Tensor::full({4}, 0.5));
  for (const auto form : {static_cast<Var (*)(const Var&, const Var&, const Var&, double)>(layer_norm), layer_norm_clear}) {
    for (const float start : {10000.0F, 60000.0F}) {
      const Var x(Tensor::from<float>({start, start + 1, start + 2, start + 3}, {1, 4}));
      const Values y = form(x, ones, {}, 1e-5).data().to_vector(), expected = {-1.341635, -0.447212, 0.447212, 1.341635};
      for (size_t i = 0; i < 4; ++i) {
        CHECK(y[i] == Approx(expected[i]).epsilon(1e-6));
      }
    }
    const Var constant = leaf(Tensor::full({1, 4}, 777.0F));
    const Var y = form(constant, ones, half, 1e-5);
    CHECK(y.data().to_vector() == Values(4, 0.5));
    backward(y, Tensor::from<float>({1, 0, 0, 0}, {1, 4}));
    const Values dx = constant.grad().to_vector(), expected = {237.1708, -79.0569, -79.0569, -79.0569};
    for (size_t i = 0; i < 4; ++i) {
      CHECK(dx[i] == Approx(expected[i]).epsilon(1e-6));
    }
  }
}

TEST_CASE("Fused LayerNorm equals its clear form, values and gradients, to rounding") {
  for (const DType dtype : {DType::F32, DType::F64}) {
    const Shape shape = {7, 33};
    const Var x = leaf(normal(shape, "x", dtype)), gamma = leaf(normal({33}, "gamma", dtype)),
              beta = leaf(normal({33}, "beta", dtype));
    const Tensor dy = normal(shape, "dy", dtype);
    std::vector<Values> results[2];
    for (const int clear : {0, 1}) {
      const Var y = clear != 0 ? layer_norm_clear(x, gamma, beta, 1e-5) : layer_norm(x, gamma, beta, 1e-5);
      backward(y, dy);
      results[clear] = {y.data().to_vector(), x.grad().to_vector(), gamma.grad().to_vector(), beta.grad().to_vector()};
      for (Var var : {x, gamma, beta}) {
        var.clear_grad();
      }
    }
    // Sums of 33 numbers of size up to about 10, three in a row: 3·33·10·ε.
    const double bound = 1000 * (dtype == DType::F32 ? 0x1p-24 : 0x1p-53);
    for (size_t r = 0; r < 4; ++r) {
      for (size_t i = 0; i < results[0][r].size(); ++i) {
        CHECK(results[0][r][i] == Approx(results[1][r][i]).margin(bound).epsilon(bound));
      }
    }
  }
}

TEST_CASE("Each form of GELU has the slope of that form [C4]") {
  struct Row {
    double x;
    GeluForm form;
    double y, slope;
  };
  const std::vector<Row> table = {{1, GeluForm::Erf, .8413447, 1.0833155},   {1, GeluForm::Tanh, .8411920, 1.0829641},
                                  {-1, GeluForm::Erf, -.1586553, -.0833155}, {-1, GeluForm::Tanh, -.1588080, -.0829641},
                                  {2, GeluForm::Erf, 1.9544997, 1.0852318},  {2, GeluForm::Tanh, 1.9545977, 1.0860993}};
  for (const DType dtype : {DType::F32, DType::F64}) {
    for (const Row& row : table) {
      const Var x = leaf(Tensor::full({}, row.x, dtype));
      const Var y = gelu(x, row.form);
      backward(y);
      CHECK(y.item() == Approx(row.y).margin(2e-7));
      CHECK(x.grad().item() == Approx(row.slope).margin(2e-7));
    }
  }
}

TEST_CASE("Linear: dW is the sum over all rows, and a row is a row whatever the dims before it") {
  const Tensor x = normal({2, 3, 5}, "x"), w = normal({5, 4}, "w"), dy = normal({2, 3, 4}, "dy");
  const Var wide = leaf(x), flat = leaf(x.view({6, 5})), W = leaf(w), W2 = leaf(w.clone()), b = leaf(normal({4}, "b"));
  const Var y = linear(wide, W, b), y2 = linear(flat, W2, b);
  CHECK(y.shape() == Shape{2, 3, 4});
  CHECK(y.data().to_vector() == y2.data().to_vector());
  backward(y, dy);
  backward(y2, dy.view({6, 4}));
  CHECK(W.grad().to_vector() == W2.grad().to_vector());
  CHECK(wide.grad().to_vector() == flat.grad().to_vector());
  CHECK_THROWS_WITH(linear(wide, Var(normal({4, 5}, "w"))), Contains("[2, 3, 5] and [4, 5]"));
  CHECK_THROWS_WITH(linear(wide, W, Var(normal({5}, "b"))), Contains("bias: shape must be [4], got [5]"));
  CHECK_THROWS_WITH(linear_transposed(wide, W), Contains("[2, 3, 5] and [5, 4]"));
}

TEST_CASE("The transposed linear map is the linear map of the transpose") {
  const Tensor w = normal({7, 5}, "w");
  const Var x = leaf(normal({3, 5}, "x")), x2 = leaf(x.data()), W = leaf(w), W2 = leaf(w.transpose(0, 1).clone());
  const Var y = linear_transposed(x, W), y2 = linear(x2, W2);
  CHECK(y.data().to_vector() == y2.data().to_vector());
  const Tensor dy = normal({3, 7}, "dy");
  backward(y, dy), backward(y2, dy);
  CHECK(x.grad().to_vector() == x2.grad().to_vector());
  CHECK(W.grad().to_vector() == W2.grad().transpose(0, 1).clone().to_vector());
}

TEST_CASE("Dropout: the gradient passes where the value passed, scaled alike; p = 0 is the identity") {
  const Var x = leaf(Tensor::full({1000}, 1.0, DType::F64));
  const RandomStream stream(1, "dropout");
  const Var y = dropout(x, 0.25, stream, 40);
  backward(sum(y));
  CHECK(x.grad().to_vector() == y.data().to_vector());
  int64_t kept = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    const bool keeps = stream.uniform(static_cast<uint64_t>(40 + i)) >= 0.25F;
    CHECK(y.data().at(i) == (keeps ? Approx(4.0 / 3).epsilon(1e-15) : Approx(0).margin(0)));
    kept += keeps ? 1 : 0;
  }
  CHECK(std::abs(static_cast<double>(kept) - 750) < 5 * 13.7);  // five standard deviations of a binomial of 1000
  CHECK(dropout(x, 0.0, stream).same_as(x));
  for (const double wrong : {-0.1, 1.0, 2.0, static_cast<double>(NAN)}) {
    CHECK_THROWS_WITH(dropout(x, wrong, stream), Contains("dropout") && Contains("[0, 1)"));
  }
}

TEST_CASE("Casting brings the gradient back in the dtype of the input; rounding to bf16 lets it through") {
  const Var x = leaf(Tensor::from<float>({1.0F, 1.00390625F, -3.14159F}, {3}));
  const Var wide = cast(x, DType::F64);
  backward(sum(wide * wide));
  CHECK(x.grad().dtype() == DType::F32);
  CHECK(x.grad().at(1) == 2.0078125);
  CHECK_THROWS_WITH(cast(x, DType::I32), Contains("to f32, f64 or bf16, got i32"));

  Var r = leaf(Tensor::from<float>({1.0F, 1.001F, -3.14159F}, {3}));
  const Var y = round_to_bf16(r);
  CHECK(y.data().to_vector() == Values{1.0, 1.0, -3.140625});
  backward(y, Tensor::from<float>({1, 2, 3.3F}, {3}));
  CHECK(r.grad().to_vector() == Values{1, 2, static_cast<double>(3.3F)});
}

TEST_CASE("Shape ops are views where tensors have views") {
  const Var x = leaf(normal({2, 3, 4}, "x"));
  for (const Var& view :
       {reshape(x, {6, 4}), transpose(x, 0, 2), permute(x, {1, 2, 0}), narrow(x, 1, 1, 2), expand(x, {5, 2, 3, 4})}) {
    CHECK(view.data().shares_storage(x.data()));
  }
  CHECK_FALSE(concat({x}, 0).data().shares_storage(x.data()));
  CHECK_FALSE(masked_fill(x, Tensor::zeros({4}, DType::U8), 0).data().shares_storage(x.data()));
}

TEST_CASE("Shape ops refuse what has no meaning, by name") {
  const Var x = leaf(normal({2, 3}, "x"));
  CHECK_THROWS_WITH(concat({x, Var(normal({2, 4}, "y"))}, 0), Contains("concat") && Contains("[2, 3] and [2, 4]"));
  CHECK_THROWS_WITH(concat({x, Var(normal({2}, "y"))}, 0), Contains("concat") && Contains("[2, 3] and [2]"));
  CHECK_THROWS_WITH(concat({x, Var(Tensor::zeros({2, 3}))}, 0), Contains("concat") && Contains("f64, got f32"));
  CHECK_THROWS_WITH(concat(std::span<const Var>(), 0), Contains("at least one"));
  CHECK_THROWS_WITH(masked_fill(x, Tensor::zeros({2, 3}), 0), Contains("mask") && Contains("u8"));
  CHECK_THROWS_WITH(masked_fill(x, Tensor::zeros({2}, DType::U8), 0), Contains("[2]"));
  CHECK_THROWS_AS(reshape(x, {4}), Error);
  CHECK_THROWS_AS(permute(x, {0, 0}), Error);
  CHECK_THROWS_AS(permute(x, {0}), Error);
  CHECK_THROWS_AS(narrow(x, 1, 2, 2), Error);
  CHECK_THROWS_AS(expand(x, {3, 3}), Error);
  CHECK_THROWS_AS(transpose(x, 0, 2), Error);
  CHECK_THROWS_AS(matmul(x, x), Error);
  CHECK_THROWS_AS(mean(leaf(Tensor::zeros({0}, DType::F64))), Error);
}
