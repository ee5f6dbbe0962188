// The table that the gradient check is driven over. A new op is a row in one of these.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/variable.h"
#include "test/autograd/values.h"

namespace ringlet::test {

using Vars = std::vector<Var>;

struct Row {
  std::string what;
  std::vector<Tensor> inputs;
  std::function<Var(const Vars&)> f;
  bool bound_rules = false;  // truncation and rounding of the differences themselves exceed the tolerance
};

using Table = std::vector<Row>;

// Shapes of two operands.
struct Pair {
  Shape a, b;
};

inline Tensor at(const Shape& shape, std::string_view name = "x") { return normal(shape, name); }
// Away from 0, for what has a pole or a kink there.
inline Tensor positive(const Shape& shape, std::string_view name = "x") { return uniform(shape, name, 0.5, 2.0); }

inline Tensor ids(std::initializer_list<int32_t> values, const Shape& shape) { return Tensor::from<int32_t>(values, shape); }
inline Tensor mask(std::initializer_list<uint8_t> values, const Shape& shape) { return Tensor::from<uint8_t>(values, shape); }

// rows_elementwise.cpp
Table arithmetic();
Table functions();
Table shapes();
// rows_of_sums.cpp
Table products();
Table reductions();
// rows_of_layers.cpp
Table normalizations();
Table losses();
Table attentions();

}  // namespace ringlet::test
