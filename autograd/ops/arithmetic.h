// Elementwise arithmetic on variables, with broadcasting: a gradient is summed over the dims along which its operand was stretched.
#pragma once

#include "autograd/variable.h"

namespace ringlet {

// Both operands have the same dtype, f32 or f64. Result: the broadcast shape.
Var operator+(const Var& a, const Var& b);
Var operator-(const Var& a, const Var& b);
Var operator*(const Var& a, const Var& b);
Var operator/(const Var& a, const Var& b);
Var operator-(const Var& x);

// With a number, rounded to the dtype of `x` first.
Var operator+(const Var& x, double c);
Var operator-(const Var& x, double c);
Var operator*(const Var& x, double c);
Var operator/(const Var& x, double c);
Var operator+(double c, const Var& x);
Var operator-(double c, const Var& x);
Var operator*(double c, const Var& x);
Var operator/(double c, const Var& x);

}  // namespace ringlet
