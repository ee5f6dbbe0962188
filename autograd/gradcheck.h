// Is a hand-derived gradient the derivative? Compared with central differences in fp64:
//   n = (f(x + h) − f(x − h)) / 2h,    |n − f'| ≤ h²/6·|f'''| + rounding/h.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/variable.h"

namespace ringlet {

/// A leaf in f64 that requires a gradient, and how messages call it.
struct CheckedInput {
  std::string name;
  Var var;
};

struct GradcheckOptions {
  double tolerance = 1e-7;  // on max|a − n| / max(1, max|n|), per input
  int64_t full_elements =
      512;              // the whole Jacobian is compared while f's inputs together and its output have at most so many elements
  int directions = 4;   // otherwise: random directions per input,
  int coordinates = 4;  // and single elements per input, drawn at random
  uint64_t seed = 0;    // of what is drawn
};

struct GradcheckResult {
  bool ok = true;
  double worst = 0;  // the largest error of all inputs, by the measure above
  double bound =
      0;  // what it was held against: the tolerance, or the computed bound of truncation and rounding where that is larger
  std::string text;  // one line; on failure it names op, input, index, got and expected
};

/// `f` computes its output from the inputs' variables anew in every call, and is a function of them alone. Afterwards the inputs hold
/// the values and gradients they held before. Costs, with n input and m output elements: 4n forwards and m backwards when full,
/// else 4·(directions + coordinates) forwards per input and one backward.
GradcheckResult gradcheck(std::string_view op, const std::function<Var()>& f, std::span<const CheckedInput> inputs,
                          const GradcheckOptions& options = {});

}  // namespace ringlet
