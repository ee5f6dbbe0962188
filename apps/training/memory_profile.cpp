#include "apps/training/memory_profile.h"

#include <algorithm>
#include <array>

#include "collectives/algorithms/select.h"
#include "collectives/control_scope.h"
#include "collectives/transports/shared_arena.h"
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

// In numbers of 4 bytes, with R = B·T rows; an f64 counts twice. Held when backward begins, per row:
//   a block    x, ln_1(x), qkv (3), attention, h, ln_2(h): 8·C   c_fc, gelu: 8·C   μ, ρ of two LayerNorms: 4   log_sum (f64): 2·H
//   the head   x, ln_f(x): 2·C   μ, ρ: 2   logits: V   log_sum (f64): 2;   and the batch: 2
// Backward frees as it goes, but first it needs more. The peak is the largest of
//   cross-entropy    dlogits: R·V
//   the head         logits are gone; dlogits, dx, dW: R·(V + C) + C·V
//   the last c_proj  the head is gone; dy, dx, dW, db: R·(C + 4·C) + 4·C² + C; where the head is tied, its dW: C·V, which waits for the
//                    embedding's; with dropout dy once more, as it was before the mask: R·C
// and the loss and its gradient, one number each, are there all the while.
int64_t activation_formula(const GptConfig& model, int64_t batch_size) {
  const int64_t R = batch_size * model.seq_len, C = model.embed_dim, V = model.vocab_size, H = model.heads;
  if (R == 0) {
    return 0;
  }
  const int64_t head = R * (2 * C + 2 + V + 2);
  const int64_t saved = R * model.layers * (16 * C + 4 + 2 * H) + head + 2 * R;
  const int64_t in_cross_entropy = R * V;
  const int64_t in_head = -R * (V + 2) + R * (V + C) + C * V;
  const int64_t in_c_proj =
      -head + R * 5 * C + 4 * C * C + (model.bias ? C : 0) + (model.tied_head ? C * V : 0) + (model.dropout > 0.0 ? R * C : 0);
  return 4 * (saved + std::max({in_cross_entropy, in_head, in_c_proj}) + 2);
}

int64_t inbox_formula(const MemoryFormula::Reduction& reduction, const Algorithms& algorithms) {
  if (reduction.ranks == 1) {
    return 0;
  }
  const Call call = {.operation = reduction.operation, .in = {nullptr, reduction.count, reduction.dtype}};
  return scratch_of(call.operation, select(call, reduction.ranks, algorithms),
                    {call.in.count, static_cast<int64_t>(size_of(reduction.dtype)), reduction.ranks});
}

int64_t communication_formula(const std::vector<MemoryFormula::Reduction>& reductions, const Communicator& world,
                              const Algorithms& algorithms) {
  const bool shared = world.transport() == "shm";
  std::vector<MemoryFormula::Reduction> all = reductions;
  all.push_back({Operation::AllReduce, 24, DType::F64, world.size(), world.transport()});
  int64_t inboxes = 0;
  for (const MemoryFormula::Reduction& one : all) {
    inboxes = std::max(inboxes, one.transport == "shm" ? 0 : inbox_formula(one, algorithms));
  }
  return inboxes + (shared && world.size() > 1 ? static_cast<int64_t>(SharedArena::share(world.size(), world.rank())) : 0);
}

MemoryProfile measure_memory(const Strategy& parallel, const GptConfig& model, const Loader& loader, Communicator& world,
                             const Algorithms& algorithms) {
  const MemoryFormula formula = parallel.memory_formula();
  const MemoryLedger ledger = Allocator::current()->ledger();
  const MemoryBytes offloaded = offloaded_here(parallel.offloaded());
  const MemoryRow mine = {
      .held = held_here(offloaded),
      .formula = {.parameters = formula.parameters_peak,
                  .gradients = formula.gradients_peak,
                  .optimizer = formula.optimizer,
                  .activations_peak = activation_formula(model, loader.largest_batch()),
                  .communication = communication_formula(formula.reductions, world, algorithms) + formula.wire},
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
