#include "autograd/ops/dropout.h"

#include "autograd/record.h"
#include "tensor/ops/dropout.h"

namespace ringlet {
namespace {

// y = m·x      dx = m·dy          m_i = 1/(1 − p) where number first + i of the stream is at least p, else 0
struct DropoutRule {
  static constexpr std::string_view kName = "dropout";
  double p;
  RandomStream stream;
  uint64_t first;

  Grads backward(const Tensor& dy) const { return {dropout(dy, p, stream, first)}; }
};

}  // namespace

Var dropout(const Var& x, double p, const RandomStream& stream, uint64_t first) {
  check(p >= 0.0 && p < 1.0, "dropout: the probability must be in [0, 1), got {}", p);
  if (p == 0.0) {
    return x;
  }
  return record(dropout(x.data(), p, stream, first), {x}, DropoutRule{.p = p, .stream = stream, .first = first});
}

}  // namespace ringlet
