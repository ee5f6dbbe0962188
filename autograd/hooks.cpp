#include "autograd/hooks.h"

#include <utility>

#include "autograd/record.h"

namespace ringlet {
namespace {

// y = x      dx = dy, after f()
struct HookRule {
  static constexpr std::string_view kName = "on_backward";
  std::function<void()> f;

  Grads backward(const Tensor& dy) const {
    f();
    return {dy};
  }
};

}  // namespace

Var on_backward(const Var& x, std::function<void()> f) {
  check(f != nullptr, "on_backward: needs a function to call");
  return record(x.data(), {x}, HookRule{.f = std::move(f)});
}

}  // namespace ringlet
