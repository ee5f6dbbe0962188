#include "apps/training/sample.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/grad_mode.h"
#include "tensor/base/random.h"

namespace ringlet {

int32_t draw_token(std::span<const float> logits, double temperature, int64_t top_k, double uniform) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto logit = [&](int32_t id) { return logits[static_cast<size_t>(id)]; };
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return logit(a) > logit(b); });
  if (temperature == 0.0) {
    return order.front();
  }
  if (top_k > 0 && top_k < static_cast<int64_t>(order.size())) {
    order.resize(static_cast<size_t>(top_k));
  }
  std::vector<double> cumulated;
  double total = 0.0;
  for (const int32_t id : order) {
    total += std::exp((static_cast<double>(logit(id)) - static_cast<double>(logit(order.front()))) / temperature);
    cumulated.push_back(total);
  }
  const auto chosen = std::upper_bound(cumulated.begin(), cumulated.end(), uniform * total);
  return chosen == cumulated.end() ? order.back() : order[static_cast<size_t>(chosen - cumulated.begin())];
}

std::vector<int32_t> sample(Gpt& model, std::vector<int32_t> prompt, const SampleOptions& options) {
  check(!prompt.empty(), "sample: needs a prompt of at least one token");
  const NoGrad no_grad;
  const bool was_training = model.training();
  model.eval();
  const RandomStream random(options.seed, "sample");
  const int64_t V = model.config().vocab_size;
  std::vector<int32_t> context = std::move(prompt), drawn;
  for (int64_t i = 0; i < options.tokens; ++i) {
    const auto T = std::min(static_cast<int64_t>(context.size()), model.config().seq_len);
    const std::span<const int32_t> window = std::span(context).last(static_cast<size_t>(T));
    const Var logits = model.forward(Tensor::from(window, {1, T}));  // [1, T, V]
    const Tensor here = logits.data().to(DType::F32).to(Device{});
    const auto last = here.span<float>().last(static_cast<size_t>(V));
    drawn.push_back(draw_token(last, options.temperature, options.top_k, random.uniform(static_cast<uint64_t>(i))));
    context.push_back(drawn.back());
  }
  model.train(was_training);
  return drawn;
}

}  // namespace ringlet
