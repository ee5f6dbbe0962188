// Sums and means.
#pragma once

#include "autograd/variable.h"

namespace ringlet {

// Over all elements, as a scalar (shape []).
Var sum(const Var& x);
Var mean(const Var& x);

// Over one dim, which stays with extent 1. Negative `dim` counts from the end. The mean of no elements is an `Error`.
Var sum(const Var& x, int dim);
Var mean(const Var& x, int dim);

}  // namespace ringlet
