#include "apps/bench/harness/gpt_step.h"

#include "apps/bench/harness/moment.h"
#include "nn/gpt.h"
#include "optim/adamw.h"
#include "tensor/base/random.h"

namespace ringlet {

StepTimes time_steps(const StepRun& run) {
  Gpt model(run.model);
  AdamW adamw(decay_groups(0.1), slices_of(model.parameters()));
  const Tensor tokens = random_tokens(run.model, run.batch_size, "gpt_step", 0);
  const Tensor targets = random_tokens(run.model, run.batch_size, "gpt_step", 1);
  StepTimes times;
  for (int64_t step = 0; step < run.warmup + run.steps; ++step) {
    const Moment start;
    const TokenLoss loss = model.loss(tokens, targets);
    const Moment forward_done;
    backward(loss.sum);
    const Moment backward_done;
    adamw.step(1e-3);
    adamw.zero_grad();
    const Moment end;
    static_cast<void>(loss.sum.item());
    if (step >= run.warmup) {
      times.forward.push_back(forward_done.seconds_since(start));
      times.backward.push_back(backward_done.seconds_since(forward_done));
      times.optimizer.push_back(end.seconds_since(backward_done));
      times.total.push_back(end.seconds_since(start));
    }
  }
  return times;
}

double operations_per_step(const GptConfig& c, int64_t batch_size) {
  const int64_t weights = c.layers * 12 * c.embed_dim * c.embed_dim + c.embed_dim * c.vocab_size;
  return static_cast<double>(batch_size * c.seq_len * (6 * weights + 12 * c.layers * c.seq_len * c.embed_dim));
}

Tensor random_tokens(const GptConfig& model, int64_t batch_size, std::string_view purpose, uint64_t index) {
  const RandomStream stream(model.seed, purpose, index);
  std::vector<int32_t> ids(static_cast<size_t>(batch_size * model.seq_len));
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<int32_t>(stream.below(i, static_cast<uint64_t>(model.vocab_size)));
  }
  return Tensor::from(ids, {batch_size, model.seq_len});
}

void model_size_flags(Flags& flags, GptConfig& model) {
  flags.whole("--layers", model.layers, 1, 10'000, "transformer blocks");
  flags.whole("--embed-dim", model.embed_dim, 1, 1'000'000, "width C");
  flags.whole("--heads", model.heads, 1, 1'000'000, "attention heads; must divide the width");
  flags.whole("--vocab-size", model.vocab_size, 1, 10'000'000, "tokens V");
  flags.whole("--seq-len", model.seq_len, 1, 1'000'000, "tokens T of a sequence");
}

}  // namespace ringlet
