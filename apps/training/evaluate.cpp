#include "apps/training/evaluate.h"

#include <algorithm>
#include <array>
#include <limits>

#include "apps/training/loader.h"
#include "apps/training/micro_batches.h"
#include "collectives/control_scope.h"

namespace ringlet {
namespace {

// Text cut into blocks of T targets each, B blocks to a batch; a shorter last block makes a batch of its own.
class Blocks {
 public:
  Blocks(std::span<const int32_t> tokens, int64_t seq_len, int64_t batch_size)
      : tokens_(tokens),
        seq_len_(seq_len),
        targets_(static_cast<int64_t>(tokens.size()) - 1),
        whole_{targets_ / seq_len, batch_size} {}

  int64_t batches() const { return whole_.count() + (targets_ % seq_len_ > 0 ? 1 : 0); }

  Batch batch(int64_t index) const {
    if (index == whole_.count()) {
      return copy(whole_.sequences * seq_len_, 1, targets_ % seq_len_);
    }
    const IndexRange blocks = whole_.of(index);
    return copy(blocks.begin * seq_len_, blocks.size(), seq_len_);
  }

 private:
  Batch copy(int64_t first, int64_t B, int64_t T) const {
    const auto text = tokens_.subspan(static_cast<size_t>(first), static_cast<size_t>(B * T + 1));
    return {Tensor::from(text.first(text.size() - 1), {B, T}), Tensor::from(text.subspan(1), {B, T})};
  }

  std::span<const int32_t> tokens_;
  int64_t seq_len_;
  int64_t targets_;
  MicroBatches whole_;
};

}  // namespace

double evaluate(int64_t batches, const std::function<TokenSum(int64_t)>& loss_of, Communicator& world) {
  const IndexRange mine = dealt_to(batches, world.size(), world.rank());
  const int64_t rounds = (batches + world.size() - 1) / world.size();
  std::array<double, 2> sums = {0.0, 0.0};  // losses, counts: both exact enough in f64 for any order
  for (int64_t round = 0; round < rounds; ++round) {
    const bool counts = round < mine.size();
    const TokenSum loss = loss_of(counts ? mine.begin + round : std::max<int64_t>(0, mine.end - 1));
    if (counts) {
      sums[0] += loss.sum;
      sums[1] += static_cast<double>(loss.count);
    }
  }
  const ControlScope control(world);
  world.all_reduce(sums, ReduceOp::Sum);
  return sums[1] > 0.0 ? sums[0] / sums[1] : std::numeric_limits<double>::quiet_NaN();
}

double heldout_loss(Module& model, Strategy& parallel, std::span<const int32_t> tokens, int64_t seq_len, int64_t batch_size,
                    Communicator& world) {
  if (tokens.size() < 2) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const Blocks blocks(tokens, seq_len, batch_size);
  const bool was_training = model.training();
  model.eval();
  const double loss = evaluate(
      blocks.batches(),
      [&](int64_t index) {
        const auto [inputs, targets] = blocks.batch(index);
        return parallel.evaluate(inputs, targets);
      },
      world);
  model.train(was_training);
  return loss;
}

}  // namespace ringlet
