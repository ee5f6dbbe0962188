#include "apps/training/report.h"

#include <cmath>
#include <cstdio>
#include <limits>

#include "apps/training/counted.h"
#include "apps/training/hex.h"
#include "apps/training/rank_device.h"

namespace ringlet {
namespace {

template <typename... Args>
std::string formatted(const char* format, Args... args) {
  std::string text(static_cast<size_t>(std::snprintf(nullptr, 0, format, args...)), '\0');
  std::snprintf(text.data(), text.size() + 1, format, args...);
  return text;
}

std::string memory_row(const std::string& name, const MemoryBytes& bytes) {
  return formatted("%-16s %12lld %12lld %12lld %12lld %14lld", name.c_str(), static_cast<long long>(bytes.parameters),
                   static_cast<long long>(bytes.gradients), static_cast<long long>(bytes.optimizer),
                   static_cast<long long>(bytes.activations_peak), static_cast<long long>(bytes.communication));
}

// A sign of what is no number says nothing.
double without_sign_of_nan(double value) { return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value; }

}  // namespace

RunDescription describe(const TrainConfig& config, const Strategy& parallel, const Communicator& world,
                        const ThreadChoice& threads, const std::string& data) {
  const GptConfig& model = config.model;
  const MicroBatches batches = config.micro_batches(world.size());
  return {.world_size = world.size(),
          .backend = std::string(world.name()),
          .device = device_text(),
          .transport = std::string(world.transport()),
          .strategy = std::string(parallel.name()),
          .reduction_order = config.communication.algorithms().kept(world.size()) == ReductionOrder::Any ? "any" : "T",
          .parameters = parallel.parameter_count(),
          .model = message("{} blocks, width {}, {} heads, vocabulary {}, sequences of {}", model.layers, model.embed_dim,
                           model.heads, model.vocab_size, model.seq_len),
          .data = data,
          .threads = threads.text(world.size()),
          .batch = message("{} sequences a step, {} at a time", batches.sequences, batches.batch_size)};
}

void Printer::line(const std::string& text) const {
  if (report_) {
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  }
}

void Printer::verdict(const std::string& text) const {
  if (verdicts_) {
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  }
}

void Printer::note(const std::string& text) const {
  if (speaks_) {
    std::fprintf(stderr, "gpt_e2e: note: %s\n", text.c_str());
  }
}

void print_description(const Printer& printer, const RunDescription& description, const ResumePoint& resumed) {
  printer.line(message("model      {}: {} parameters", description.model, description.parameters));
  printer.line(
      message("ranks      {}, backend {}, transport {}", description.threads, description.backend, description.transport));
  if (description.device != "cpu") {
    printer.line(message("device     {}", description.device));
  }
  printer.line(message("strategy   {}, reduction order {}", description.strategy, description.reduction_order));
  printer.line(message("data       {}; {}", description.data, description.batch));
  for (const std::string& warning : resumed.warnings) {
    if (printer.reports()) {
      printer.line(message("resume     {}", warning));
    } else {
      printer.note(message("resume: {}", warning));
    }
  }
  for (const std::string& note : resumed.notes) {
    printer.line(message("resume     {}", note));
  }
}

void print_memory(const Printer& printer, const MemoryProfile& profile) {
  printer.line("");
  printer.line("memory per rank in bytes, held / formula");
  printer.line(
      formatted("%-16s %12s %12s %12s %12s %14s", "", "parameters", "gradients", "optimizer", "activations", "communication"));
  for (size_t rank = 0; rank < profile.rows.size(); ++rank) {
    printer.line(memory_row(message("rank {}", rank), profile.rows[rank].held));
    printer.line(memory_row("  formula", profile.rows[rank].formula));
    if (profile.rows[rank].offloaded_formula.optimizer > 0) {
      printer.line(memory_row("  offloaded", profile.rows[rank].offloaded));
      printer.line(memory_row("  formula", profile.rows[rank].offloaded_formula));
    }
  }
  printer.line(memory_row("maximum", profile.maximum()));
  printer.line(memory_row("mean", profile.mean()));
  const MemoryOverhead overhead = profile.overhead();
  printer.line(message("of these, padding of a flat tensor at most {}; besides, rounding of blocks {}, free blocks {}",
                       overhead.padding, overhead.rounding, overhead.cached));
}

void print_manifest(const Printer& printer, const std::string& path, const Manifest& manifest) {
  printer.line("");
  printer.line(message("checkpoint {}: step {}, {}, schema {}", path, manifest.step, counted(manifest.world_size, "rank"),
                       manifest.schema_version));
  for (const ShardRecord& shard : manifest.shards) {
    printer.line(message("  rank {}  {}  elements {} + {}  {} bytes  sha256 {}", shard.rank, shard.file, shard.offset,
                         shard.elements, shard.bytes, shard.sha256));
  }
}

StepTable::StepTable(const Printer& printer, int64_t steps, int64_t every)
    : printer_(printer), steps_(steps), every_(every > 0 ? every : (steps + 19) / 20) {}

void StepTable::on_step(const StepRecord& record) {
  const bool due = !begun_ || record.step % every_ == 0 || record.step == steps_;
  if (!due || !printer_.reports()) {
    return;
  }
  if (!begun_) {
    printer_.line("");
    printer_.line(
        formatted("%6s %12s %12s %12s %12s %10s %12s", "step", "loss", "grad norm", "param norm", "lr", "ms", "tokens/s"));
    begun_ = true;
  }
  printer_.line(formatted("%6lld %12.6f %12.6f %12.6f %12.4e %10.3f %12.0f", static_cast<long long>(record.step),
                          without_sign_of_nan(record.loss), without_sign_of_nan(record.grad_norm),
                          without_sign_of_nan(record.param_norm), record.lr, record.step_ms, record.tokens_per_s));
}

}  // namespace ringlet
