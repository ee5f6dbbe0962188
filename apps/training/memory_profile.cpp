#include "apps/training/memory_profile.h"

#include <algorithm>
#include <array>

#include "collectives/control_scope.h"
#include "tensor/base/allocator.h"

namespace ringlet {
namespace {

using Five = std::array<int64_t MemoryBytes::*, 5>;
constexpr Five kFields = {&MemoryBytes::parameters, &MemoryBytes::gradients, &MemoryBytes::optimizer,
                          &MemoryBytes::activations_peak, &MemoryBytes::communication};

constexpr std::array<MemoryBytes MemoryRow::*, 4> kParts = {&MemoryRow::held, &MemoryRow::formula, &MemoryRow::offloaded,
                                                            &MemoryRow::offloaded_formula};

constexpr std::array<int64_t MemoryOverhead::*, 3> kOverheads = {&MemoryOverhead::padding, &MemoryOverhead::rounding,
                                                                 &MemoryOverhead::cached};

MemoryBytes offloaded_here(const MemoryLedger& ledger) {
  return {.parameters = ledger.of(Category::Parameters).live,
          .gradients = ledger.of(Category::Gradients).live,
          .optimizer = ledger.of(Category::Optimizer).live};
}

MemoryBytes held_here(const MemoryBytes& offloaded) {
  const MemoryLedger ledger = Allocator::current()->ledger();
  const bool on_device = Allocator::current()->device() != Device{};
  const int64_t host_buffers = on_device ? Allocator::on(Device{})->ledger().of(Category::Communication).peak : 0;
  return {.parameters = ledger.of(Category::Parameters).peak + offloaded.parameters,
          .gradients = ledger.of(Category::Gradients).peak + offloaded.gradients,
          .optimizer = ledger.of(Category::Optimizer).live + offloaded.optimizer,
          .activations_peak = ledger.of(Category::Activations).peak,
          .communication = ledger.of(Category::Communication).peak + host_buffers};
}

StepBatches batches_of(const Loader& loader) {
  StepBatches batches = {.largest = loader.largest_batch(), .count = 0, .on_gpu = Allocator::current()->device() != Device{}};
  const IndexRange mine = loader.mine();
  for (int64_t m = mine.begin; m < mine.end; m += mine.stride) {
    batches.count += loader.plan().of(m).size() == batches.largest ? 1 : 0;
  }
  return batches;
}

// The row of every rank.
MemoryProfile gathered(MemoryRow mine, Communicator& world) {
  constexpr size_t kNumbers = kParts.size() * kFields.size() + kOverheads.size();
  const auto for_each_number = [](MemoryRow& row, auto&& visit) {
    size_t i = 0;
    for (const auto part : kParts) {
      for (const auto field : kFields) {
        visit(row.*part.*field, i++);
      }
    }
    for (const auto field : kOverheads) {
      visit(row.overhead.*field, i++);
    }
  };
  std::array<int64_t, kNumbers> numbers{};
  for_each_number(mine, [&](int64_t& number, size_t i) { numbers[i] = number; });
  std::vector<int64_t> all(kNumbers * static_cast<size_t>(world.size()));
  const ControlScope control(world);
  world.all_gather(numbers, all);
  MemoryProfile profile;
  for (size_t begin = 0; begin < all.size(); begin += kNumbers) {
    for_each_number(profile.rows.emplace_back(), [&](int64_t& number, size_t i) { number = all[begin + i]; });
  }
  return profile;
}

}  // namespace

// With R = B·T rows, numbers of w bytes (4; in bf16 2, where LayerNorm's μ and ρ stay f32) and f64 for log_sum. Held when backward begins:
//   a block    per row x, ln_1(x), qkv (3), attention, h, ln_2(h), c_fc (4), gelu (4): 16·C   μ, ρ of two LayerNorms   log_sum: H
//   the head   per row x, ln_f(x): 2·C   μ, ρ   logits: V   log_sum
//   the batch  per row a token and a target of 4 bytes; targets that were copied to a GPU go when the loss has been differentiated
//   in bf16    what products and LayerNorms read in place of their weights: a block's 12·C² and two gains, the head's C·V and a gain
// Backward frees as it goes, but first it needs more. The peak is the largest of
//   cross-entropy    dlogits: R·V
//   the head         logits are gone; dlogits, dx, dW: R·(V + C) + C·V.   In bf16 also after it: dx and dW take the places of its x and W,
//                    and there is dW in f32
//   the last c_proj  the head is gone; dy, dx, dW, db: R·(C + 4·C) + 4·C² + C; where the head is tied, its dW in f32, which waits for
//                    the embedding's; with dropout dy once more, as it was before the mask: R·C.   In bf16 db is summed in f32, from dy in
//                    f32; and after it dx and dW take the places of x and W, and there is dW in f32
//   the embedding    where the head is tied: both dW and their sum; nothing else is left
// and all the while the loss and its gradient; on a GPU the losses and counts of the step's micro-batches so far wait to be read.
int64_t activation_formula(const GptConfig& model, const StepBatches& batches) {
  const int64_t R = batches.largest * model.seq_len, C = model.embed_dim, V = model.vocab_size, H = model.heads;
  if (R == 0) {
    return 0;
  }
  const bool bf16 = model.bf16;
  const int64_t w = bf16 ? 2 : 4, tokens = 4 * R, read_targets = batches.on_gpu ? tokens : 0;
  const int64_t block = R * (16 * w * C + 16 + 8 * H) + (bf16 ? w * (12 * C * C + 2 * C) : 0);
  const int64_t logits = R * (w * V + 8);
  const int64_t head = R * (2 * w * C + 8) + logits + (bf16 ? w * (C * V + C) : 0);
  const int64_t saved = model.layers * block + head + 2 * tokens;

  const int64_t bias = !model.bias ? 0 : (bf16 ? 4 * (R * C + C) : w * C);
  const int64_t masked = model.dropout > 0.0 ? w * R * C : 0, waiting = model.tied_head ? 4 * C * V : 0;
  const int64_t after_loss = saved - logits - read_targets, after_head = saved - head - read_targets + waiting;
  int64_t peak = saved + w * R * V;
  peak = std::max(peak, after_loss + w * (R * V + R * C + C * V));
  peak = std::max(peak, after_head + w * (5 * R * C + 4 * C * C) + bias + masked);
  if (bf16) {
    peak = std::max({peak, after_loss + 4 * C * V, after_head + w * R * C + 4 * (4 * C * C)});
  }
  if (model.tied_head) {
    peak = std::max(peak, 3 * 4 * C * V + 2 * (tokens - read_targets));
  }
  return peak + (batches.on_gpu ? 4 + 12 * batches.count : 8);
}

int64_t communication_formula(const MemoryFormula& strategy, const Communicator& world, bool on_gpu) {
  const int64_t doubles = world.scratch_bytes(formula_call(Operation::AllReduce, 26, DType::F64, world.size()));
  return on_gpu ? strategy.communication : std::max(strategy.communication, doubles) + world.held_bytes();
}

MemoryProfile measure_memory(const Strategy& parallel, const GptConfig& model, const Loader& loader, Communicator& world) {
  const MemoryFormula formula = parallel.memory_formula();
  const MemoryLedger ledger = Allocator::current()->ledger();
  const MemoryBytes offloaded = offloaded_here(parallel.offloaded());
  const MemoryRow mine = {.held = held_here(offloaded),
                          .formula = {.parameters = formula.parameters_peak,
                                      .gradients = formula.gradients_peak,
                                      .optimizer = formula.optimizer,
                                      .activations_peak = activation_formula(model, batches_of(loader)),
                                      .communication = communication_formula(formula, world, batches_of(loader).on_gpu)},
                          .offloaded = offloaded,
                          .offloaded_formula = {.parameters = formula.offloaded.parameters,
                                                .gradients = formula.offloaded.gradients,
                                                .optimizer = formula.offloaded.optimizer},
                          .overhead = {.padding = formula.padding, .rounding = ledger.rounding, .cached = ledger.cached}};
  return gathered(mine, world);
}

MemoryBytes MemoryProfile::maximum() const {
  MemoryBytes most;
  for (const MemoryRow& row : rows) {
    for (const auto field : kFields) {
      most.*field = std::max(most.*field, row.held.*field);
    }
  }
  return most;
}

MemoryOverhead MemoryProfile::overhead() const {
  MemoryOverhead most;
  for (const MemoryRow& row : rows) {
    for (const auto field : kOverheads) {
      most.*field = std::max(most.*field, row.overhead.*field);
    }
  }
  return most;
}

MemoryBytes MemoryProfile::mean() const {
  MemoryBytes mean;
  for (const auto field : kFields) {
    for (const MemoryRow& row : rows) {
      mean.*field += row.held.*field;
    }
    mean.*field /= static_cast<int64_t>(rows.size());
  }
  return mean;
}

bool MemoryProfile::optimizer_matches() const {
  return std::all_of(rows.begin(), rows.end(), [](const MemoryRow& row) {
    return row.held.optimizer == row.formula.optimizer && row.offloaded.optimizer == row.offloaded_formula.optimizer;
  });
}

}  // namespace ringlet
