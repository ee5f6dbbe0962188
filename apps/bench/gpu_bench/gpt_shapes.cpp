#include "apps/bench/gpu_bench/gpt_shapes.h"

#include <set>

#include "tensor/base/random.h"

namespace ringlet {

std::vector<int64_t> GptShapes::parameters() const {
  std::vector<int64_t> sizes = {V() * C(), model.seq_len * C()};
  for (int64_t block = 0; block < model.layers; ++block) {
    const int64_t of_block[] = {C(), C(), 3 * C() * C(), C() * C(), C(), C(), C() * H(), H(), H() * C(), C()};
    sizes.insert(sizes.end(), std::begin(of_block), std::end(of_block));
  }
  sizes.push_back(C());
  sizes.push_back(C());
  return sizes;
}

std::vector<int32_t> GptShapes::ids() const {
  const RandomStream stream(model.seed, "gpu_bench/ids");
  std::vector<int32_t> ids(static_cast<size_t>(N()));
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<int32_t>(stream.below(i, static_cast<uint64_t>(V())));
  }
  return ids;
}

int64_t GptShapes::U() const {
  const std::vector<int32_t> all = ids();
  return static_cast<int64_t>(std::set<int32_t>(all.begin(), all.end()).size());
}

GptShapes gpt2_shapes(int64_t batch_size) {
  GptConfig model;
  model.layers = 12, model.embed_dim = 768, model.heads = 12, model.vocab_size = 50304, model.seq_len = 1024;
  model.tied_head = true, model.activation = GeluForm::Tanh, model.bf16 = true;
  return {model, batch_size};
}

GptShapes small_shapes() {
  GptShapes shapes = gpt2_shapes(2);
  shapes.model.layers = 1, shapes.model.embed_dim = 64, shapes.model.heads = 2, shapes.model.vocab_size = 96;
  shapes.model.seq_len = 32;
  return shapes;
}

}  // namespace ringlet
