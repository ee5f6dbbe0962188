#include "autograd/ops/matmul.h"

#include "autograd/record.h"
#include "tensor/ops/matmul.h"

namespace ringlet {
namespace {

// C = A·B      dA = dC·Bᵀ      dB = Aᵀ·dC          A: [..., M, K]   B: [..., K, N]   C: [..., M, N]
struct MatmulRule {
  static constexpr std::string_view kName = "matmul";
  Saved A, B;  // each only if the other's gradient is wanted

  Grads backward(const Tensor& dC) const {
    return {B.defined() ? matmul(dC, B.get().transpose(-2, -1)) : Tensor(),
            A.defined() ? matmul(A.get().transpose(-2, -1), dC) : Tensor()};
  }
};

}  // namespace

Var matmul(const Var& a, const Var& b) {
  return record(matmul(a.data(), b.data()), {a, b}, MatmulRule{.A = saved_for(b, a.data()), .B = saved_for(a, b.data())});
}

}  // namespace ringlet
