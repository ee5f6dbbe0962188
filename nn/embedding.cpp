#include "nn/embedding.h"

#include "autograd/ops/embedding.h"
#include "autograd/ops/shape.h"

namespace ringlet {

Embedding::Embedding(int64_t rows, int64_t embed_dim, DType dtype)
    : weight_(add_parameter("weight", {rows, embed_dim}, dtype)) {}

Var Embedding::forward(const Tensor& ids) {
  return hooked([&] { return embedding(weight_, ids); });
}

Var Embedding::first(int64_t count) {
  return hooked([&] { return count == weight_.dim(0) ? weight_ : narrow(weight_, 0, 0, count); });
}

}  // namespace ringlet
