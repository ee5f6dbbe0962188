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
  // h, times max(1, |x|): about ∛ε, where truncation h²·f''' and rounding ε·f/h are of one size.
  double step = 6e-6;
  // The whole Jacobian is compared while the inputs together, and the output, have at most so many elements.
  int64_t full_elements = 512;
  // Otherwise, per input, so many random directions and so many single elements drawn at random.
  int directions = 4;
  int coordinates = 4;
  uint64_t seed = 0;  // of what is drawn
};

struct GradcheckResult {
  bool ok = true;
  double worst = 0;  // the largest error of all inputs, by the measure above
  // What it was held against: the tolerance, or the computed bound of truncation and rounding where that is larger.
  double bound = 0;
  std::string text;  // one line; on failure it names op, input, index, got and expected
};

/// `f` computes its output from the inputs' variables anew in every call, and is a function of them alone. Afterwards the inputs hold
/// the values and gradients they held before. Costs, with n input and m output elements: 4n forwards and m backwards when full,
/// else 4·(directions + coordinates) forwards per input and one backward.
GradcheckResult gradcheck(std::string_view op, const std::function<Var()>& f, std::span<const CheckedInput> inputs,
                          const GradcheckOptions& options = {});

}  // namespace ringlet
