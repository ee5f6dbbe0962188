#include "tensor/ops/arithmetic.h"

#include <limits>

#include "test/support/catch.h"
#include "test/tensor/values.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

struct Operation {
  const char* name;
  Tensor (*op)(const Tensor&, const Tensor&);
  double (*f)(double, double);
};
const Operation kOperations[] = {
    {"add", operator+, [](double a, double b) { return a + b; }},
    {"subtract", operator-, [](double a, double b) { return a - b; }},
    {"multiply", operator*, [](double a, double b) { return a * b; }},
    {"divide", operator/, [](double a, double b) { return a / b; }},
};

// The element of `x` that stands at row-major position i of the broadcast `shape`.
double stretched(const Tensor& x, const Shape& shape, int64_t i) {
  int64_t position = 0, weight = 1;
  for (int d = 1; d <= shape.rank(); ++d) {
    const int64_t index = i % shape[-d];
    i /= shape[-d];
    if (d <= x.rank()) {
      position += (x.dim(-d) == 1 ? 0 : index) * weight;
      weight *= x.dim(-d);
    }
  }
  return x.at(position);
}

void require_broadcast(const Operation& operation, const Tensor& a, const Tensor& b, const Shape& shape) {
  const Tensor y = operation.op(a, b);
  CAPTURE(operation.name, to_text(a.shape()), to_text(b.shape()), to_text(a.dtype()));
  REQUIRE(y.shape() == shape);
  for (int64_t i = 0; i < y.numel(); ++i) {
    const double exact = operation.f(stretched(a, shape, i), stretched(b, shape, i));
    REQUIRE(y.at(i) == (y.dtype() == DType::F32 ? static_cast<double>(static_cast<float>(exact)) : exact));  // one rounding
  }
}

}  // namespace

TEST_CASE("arithmetic broadcasts as a loop over indices would, zero extents included", "[tensor]") {
  struct Row {
    Shape a, b, y;
  };
  const Row table[] = {
      {{}, {}, {}},
      {{1}, {}, {1}},
      {{5}, {5}, {5}},
      {{5}, {1}, {5}},
      {{}, {4, 3}, {4, 3}},
      {{4, 3}, {3}, {4, 3}},
      {{3}, {4, 3}, {4, 3}},
      {{4, 3}, {4, 1}, {4, 3}},
      {{4, 1}, {1, 3}, {4, 3}},
      {{2, 2, 3}, {3}, {2, 2, 3}},
      {{2, 2, 3}, {2, 1}, {2, 2, 3}},
      {{2, 1, 3}, {1, 4, 1}, {2, 4, 3}},
      {{2, 1, 3, 1}, {5, 1, 7}, {2, 5, 3, 7}},
      {{2, 1, 1, 2, 1, 3}, {2, 3, 1, 2, 1}, {2, 2, 3, 2, 2, 3}},
      {{0}, {1}, {0}},
      {{0}, {}, {0}},
      {{3, 0}, {1, 1}, {3, 0}},
      {{0, 3}, {3}, {0, 3}},
      {{2, 0, 3}, {2, 1, 1}, {2, 0, 3}},
      {{64, 32}, {32}, {64, 32}},
      {{33, 17}, {33, 17}, {33, 17}},
  };
  for (const Row& row : table) {
    for (const Operation& operation : kOperations) {
      for (const DType dtype : {DType::F32, DType::F64}) {
        const Tensor a = normal(row.a, "a", dtype), b = normal(row.b, "b", dtype);
        require_broadcast(operation, a, b, row.y);
        require_broadcast(operation, b, a, row.y);
      }
    }
  }
}

TEST_CASE("operands of arithmetic may be views of any strides", "[tensor]") {
  const Tensor base = normal({6, 5, 4}, "base"), other = normal({4, 5}, "other");
  const Tensor permuted = base.permute({2, 1, 0}), narrowed = base.narrow(1, 1, 3).narrow(2, 2, 1),
               transposed = other.transpose(0, 1);
  for (const Operation& operation : kOperations) {
    require_broadcast(operation, permuted, normal({4, 5, 6}, "c"), {4, 5, 6});
    require_broadcast(operation, base, transposed, {6, 5, 4});
    require_broadcast(operation, narrowed, transposed.narrow(0, 1, 3), {6, 3, 4});
    require_broadcast(operation, normal({1}, "d").expand({5, 4}), transposed, {5, 4});
  }
}

TEST_CASE("a number is rounded to the dtype of the tensor first", "[tensor]") {
  const Tensor x = Tensor::from<float>({1.0F, 3.0F}, {2});
  CHECK((x * 0.1).to_vector() == std::vector<double>{0.1F, 3.0F * 0.1F});
  CHECK((x + 0.1).to_vector() == std::vector<double>{1.0F + 0.1F, 3.0F + 0.1F});
  CHECK((x.to(DType::F64) * 0.1).to_vector() == std::vector<double>{0.1, 3.0 * 0.1});
}

TEST_CASE("in-place arithmetic writes through views and leaves the rest alone", "[tensor]") {
  Tensor x = Tensor::from<float>({0, 2, 3, 4, 5, 6}, {2, 3});
  const uint64_t version = x.version();
  Tensor column = x.narrow(1, 1, 1);
  add_into(column, Tensor::from<float>({10}, {1}));
  CHECK(x.to_vector() == std::vector<double>{0, 12, 3, 4, 15, 6});
  CHECK(x.version() > version);
  add_into(x, Tensor::from<float>({100, 200, 300}, {3}));
  CHECK(x.to_vector() == std::vector<double>{100, 212, 303, 104, 215, 306});
  scale_into(column, 2);
  CHECK(x.to_vector() == std::vector<double>{100, 424, 303, 104, 430, 306});
  divide_into(x, 3);
  CHECK(x.at(0) == 100.0F / 3.0F);
  CHECK(x.at(0) != 100.0F * (1.0F / 3.0F));  // which is why there are two functions
  add_into(x, x);
  CHECK(x.at(0) == 2 * (100.0F / 3.0F));
}

TEST_CASE("[P5] adding a tensor's own transpose, or itself shifted, reads everything before it writes", "[tensor]") {
  Tensor square = Tensor::from<float>({1, 2, 3, 4}, {2, 2});
  add_into(square, square.transpose(0, 1));
  CHECK(square.to_vector() == std::vector<double>{2, 5, 5, 8});
  Tensor line = Tensor::from<float>({1, 2, 3, 4, 5}, {5});
  Tensor tail = line.narrow(0, 1, 4);
  add_into(tail, line.narrow(0, 0, 4));
  CHECK(line.to_vector() == std::vector<double>{1, 3, 5, 7, 9});
}

TEST_CASE("arithmetic names what is wrong with its operands", "[tensor]") {
  using Catch::Matchers::Contains;
  const Tensor f32 = Tensor::zeros({2, 3}), f64 = Tensor::zeros({2, 3}, DType::F64), i32 = Tensor::zeros({2, 3}, DType::I32);
  CHECK_THROWS_WITH(f32 + f64, Contains("add: dtypes differ, f32 and f64"));
  CHECK_THROWS_WITH(i32 * i32, Contains("multiply: needs f32 or f64, got i32"));
  CHECK_THROWS_WITH(f32 - Tensor::zeros({2}), Contains("subtract: shapes do not broadcast, [2, 3] and [2]"));
  CHECK_THROWS_WITH(i32 * 2.0, Contains("multiply: needs f32 or f64, got i32"));
  CHECK_THROWS_AS(f32 / Tensor(), Error);
  Tensor small = Tensor::zeros({3}), bytes = Tensor::zeros({3}, DType::U8);
  CHECK_THROWS_WITH(add_into(small, f32), Contains("add_into: [2, 3] does not broadcast to [3]"));
  CHECK_THROWS_WITH(add_into(small, f64), Contains("add_into: dtypes differ, f32 and f64"));
  CHECK_THROWS_WITH(scale_into(bytes, 2), Contains("scale_into: needs f32 or f64, got u8"));
}
