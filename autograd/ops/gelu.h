// GELU (Hendrycks & Gimpel, 2016). The form is always named: weights trained with one expect that one.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops/gelu.h"

namespace ringlet {

Var gelu(const Var& x, GeluForm form);

}  // namespace ringlet
