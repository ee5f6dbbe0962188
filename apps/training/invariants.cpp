#include "apps/training/invariants.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

#include "apps/training/hex.h"

namespace ringlet {
namespace {

constexpr int64_t kPromised = 20;  // steps at whose every one the loss falls

// Why the loss of this run need not fall at every step; empty when it must.
std::string why_it_may_rise(const std::vector<StepRecord>& history, const TrainConfig& config, int world_size) {
  if (!config.corpus.empty()) {
    return "batches of a real text differ in how hard they are";
  }
  if (history.empty() || history.front().step != 1) {
    return "the run was resumed, its first steps lie before it";
  }
  if (!config.has_default_sizes(world_size)) {
    return "the promise is made for the default sizes";
  }
  if (!config.has_default_optimization()) {
    return "the promise is made for the default optimizer, schedule and clipping, gradients in fp32, and learning rates from "
           "0.005 up";
  }
  if (history.size() < 2) {
    return "one step has nothing to fall from";
  }
  if (config.spike_at > 0 && !config.guard.on) {
    return "a spike was asked for";
  }
  for (const StepRecord& record : history) {
    if (record.batch != record.step && record.step <= kPromised) {
      return message("from step {} on, batches that the guard refused are skipped", record.step);
    }
  }
  return "";
}

// Numbers of 4 bytes per parameter: the moments, and with ZeRO-1 and 2 a master copy, shared by N ranks, or by the S that share a copy.
std::string memory_claim(const TrainConfig& config) {
  struct Row {
    std::string_view strategy, name, shared_by;
    int master;
  };
  constexpr Row kRows[] = {{"ddp", "DDP", "", 0},
                           {"zero1", "ZeRO-1", "/N", 1},
                           {"zero2", "ZeRO-2", "/N", 1},
                           {"fsdp", "FSDP", "/N", 0},
                           {"hsdp", "HSDP", "/S", 0}};
  const auto* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.strategy == config.strategy; });
  const int moments = config.optimizer.name == "adamw" ? 2 : (config.optimizer.momentum > 0.0 ? 1 : 0);
  return message("optimizer bytes per rank equal {}'s {}P{}", row->name, 4 * (moments + row->master), row->shared_by);
}

std::string plural(int64_t count, const char* noun) { return message("{} {}{}", count, noun, count == 1 ? "" : "s"); }

}  // namespace

std::string Invariant::line() const {
  const std::string verdict =
      !holds ? "not applicable" : (*holds ? (letter == 'd' ? "RESUME VERIFIED" : "VERIFIED") : "FAILED");
  return message("{} ({}) {}: {}", verdict, std::string(1, letter), claim, detail);
}

double loss_noise(const GptConfig& model, int64_t tokens_per_micro_batch, double loss) {
  const double roundings = static_cast<double>(model.embed_dim + 5) + std::log2(static_cast<double>(model.vocab_size)) +
                           std::log2(static_cast<double>(tokens_per_micro_batch));
  return 0x1p-24 * roundings * std::max(loss, 1.0);
}

Invariant loss_falls(const std::vector<StepRecord>& history, const TrainConfig& config, int world_size) {
  const int64_t steps = std::min(kPromised, config.steps);
  Invariant result = {.letter = 'a',
                      .holds = std::nullopt,
                      .claim = message("the loss falls at every one of the {} steps, within float noise", steps),
                      .detail = why_it_may_rise(history, config, world_size)};
  if (!result.detail.empty()) {
    return result;
  }
  double smallest_fall = std::numeric_limits<double>::infinity();
  double tolerance = 0.0;
  result.holds = true;
  for (size_t i = 1; i < static_cast<size_t>(steps) && *result.holds; ++i) {
    const double fall = history[i - 1].loss - history[i].loss;
    tolerance = loss_noise(config.model, config.batch_size * config.model.seq_len, history[i - 1].loss);
    smallest_fall = std::min(smallest_fall, fall);
    if (!(fall >= -tolerance)) {  // NaN fails too
      result.holds = false;
      result.detail = message("at step {} it rises by {}, the tolerance is {}", history[i].step, -fall, tolerance);
    }
  }
  if (*result.holds) {
    result.detail =
        message("from {} to {}, the smallest fall is {}; tolerance {} = 2^-24 · (C + 5 + log2 V + log2 tokens) · loss",
                history.front().loss, history[static_cast<size_t>(steps) - 1].loss, smallest_fall, tolerance);
  }
  return result;
}

Invariant replicas_equal(const std::vector<StepRecord>& history, const TrainConfig& config, int world_size) {
  const auto differs = std::find_if(history.begin(), history.end(), [](const StepRecord& r) { return !r.replicas_equal; });
  Invariant result = {.letter = 'b',
                      .holds = differs == history.end(),
                      .claim = "every rank holds the same parameters at every step",
                      .detail = {}};
  if (!*result.holds) {
    result.detail = message("they differ from step {} on", differs->step);
  } else if (!history.empty()) {
    const bool sharded = config.strategy == "fsdp" || config.strategy == "hsdp";
    result.detail = message("norm and 64-bit hash{} compared on {} at {}, the last is {}",
                            sharded ? " of every unit, unsharded," : "", plural(world_size, "rank"),
                            plural(static_cast<int64_t>(history.size()), "step"), hex(history.back().param_hash));
  } else {
    result.holds = std::nullopt;
    result.detail = "no step was left to take";
  }
  return result;
}

Invariant memory_matches(const MemoryProfile& profile, const TrainConfig& config) {
  Invariant result = {.letter = 'c', .holds = profile.optimizer_matches(), .claim = memory_claim(config), .detail = {}};
  for (size_t rank = 0; rank < profile.rows.size() && result.detail.empty(); ++rank) {
    const MemoryRow& row = profile.rows[rank];
    if (row.held.optimizer != row.formula.optimizer) {
      result.detail = message("rank {} holds {} bytes, the formula says {}: {} too many", rank, row.held.optimizer,
                              row.formula.optimizer, row.held.optimizer - row.formula.optimizer);
    }
  }
  if (*result.holds) {
    const auto ranks = static_cast<int>(profile.rows.size());
    const bool grouped = config.strategy == "hsdp";
    result.detail =
        message("{} bytes on every rank, padded to {} = {}, counted at the allocator", profile.rows.front().held.optimizer,
                grouped ? "S" : "N", grouped ? ranks_per_copy(config.parallel, ranks) : ranks);
  }
  return result;
}

}  // namespace ringlet
