// A place in the graph where something happens when the gradient passes: the seam for hooks around a module's backward.
#pragma once

#include <functional>

#include "autograd/variable.h"

namespace ringlet {

/// y = x; `f` runs in backward when ∂L/∂y is complete, before it is handed on to x: everything that consumed y has been walked,
/// nothing that made x has. Runs once per backward() that reaches y, not at all where no gradient arrives.
/// If `f` owns y or anything made from it, the graph owns itself and is never freed.
Var on_backward(const Var& x, std::function<void()> f);

}  // namespace ringlet
