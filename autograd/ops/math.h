// Elementwise functions.
#pragma once

#include "autograd/variable.h"

namespace ringlet {

Var exp(const Var& x);
Var log(const Var& x);
Var sqrt(const Var& x);
Var rsqrt(const Var& x);  // 1 / sqrt(x)
Var square(const Var& x);
Var tanh(const Var& x);
Var erf(const Var& x);
Var sigmoid(const Var& x);
Var relu(const Var& x);  // with slope 0 at 0

}  // namespace ringlet
