#include "autograd/ops/embedding.h"

#include "autograd/record.h"
#include "tensor/ops/embedding.h"

namespace ringlet {
namespace {

// y[..., :] = table[ids[...], :]      dtable[v, :] = Σ over the positions of id v of dy
struct EmbeddingRule {
  static constexpr std::string_view kName = "embedding";
  Saved ids;  // [...]
  int64_t V;

  Grads backward(const Tensor& dy) const { return {embedding_backward(dy, ids, V)}; }
};

}  // namespace

Var embedding(const Var& table, const Tensor& ids) {
  return record(embedding(table.data(), ids), {table}, EmbeddingRule{.ids = ids, .V = table.dim(0)});
}

}  // namespace ringlet
