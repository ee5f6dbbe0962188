#include "autograd/ops/matmul.h"

#include "autograd/record.h"
#include "tensor/ops/matmul.h"

namespace ringlet {
namespace {

// y = a·b      da = dy·bᵀ      db = aᵀ·dy          a: [..., M, K]   b: [..., K, N]   y: [..., M, N]
struct MatmulRule {
  static constexpr std::string_view kName = "matmul";
  Saved a, b;  // each only if the other's gradient is wanted

  Grads backward(const Tensor& dy) const {
    return {b.defined() ? matmul(dy, b.get().transpose(-2, -1)) : Tensor(),
            a.defined() ? matmul(a.get().transpose(-2, -1), dy) : Tensor()};
  }
};

}  // namespace

Var matmul(const Var& a, const Var& b) {
  return record(matmul(a.data(), b.data()), {a, b}, MatmulRule{.a = saved_for(b, a.data()), .b = saved_for(a, b.data())});
}

}  // namespace ringlet
