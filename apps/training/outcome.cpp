#include "apps/training/outcome.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "apps/training/counted.h"
#include "apps/training/hex.h"
#include "apps/training/output_file.h"
#include "apps/training/sample.h"

namespace ringlet {
namespace {

double median_step_ms(const std::vector<StepRecord>& steps) {
  std::vector<double> times;
  for (const StepRecord& record : steps) {
    times.push_back(record.step_ms);
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

// Control characters would move the terminal's cursor, or worse.
std::string printable(const std::string& text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F) {
      shown += message("\\x{}{}", std::string(1, "0123456789abcdef"[byte >> 4]), std::string(1, "0123456789abcdef"[byte & 15]));
    } else {
      shown += c;
    }
  }
  return shown;
}

void print_communication(const Printer& printer, const std::optional<CommunicationReport>& communication) {
  if (communication) {
    printer.verdict("");
    for (const std::string& line : communication->lines()) {
      printer.verdict(line);
    }
  }
}

void print_sample(const Printer& printer, TrainingRun& run, const Corpus& corpus) {
  const TrainConfig& config = run.config();
  if (config.sample == 0) {
    return;
  }
  const auto whole = run.parallel().summon();
  if (!printer.reports()) {
    return;  // this rank's part is done
  }
  const auto training = corpus.training();
  const auto prompt = training.last(std::min(training.size(), static_cast<size_t>(config.model.seq_len)));
  const std::vector<int32_t> drawn =
      sample(run.model(), {prompt.begin(), prompt.end()},
             {.tokens = config.sample, .temperature = config.temperature, .top_k = config.top_k, .seed = config.model.seed});
  printer.line("");
  printer.line(
      message("sample of {} characters, continuing the training text at temperature {}:", drawn.size(), config.temperature));
  printer.line(printable(corpus.tokenizer().decode(drawn)));
}

void print_end(const Printer& printer, const Outcome& outcome, const GuardState& guard) {
  printer.line("");
  if (!outcome.steps.empty()) {
    const StepRecord& last = outcome.steps.back();
    printer.line(message("step {}: loss {}, parameter hash {}; the median step took {} ms", last.step, last.loss,
                         hex(outcome.final_param_hash), median_step_ms(outcome.steps)));
  }
  int64_t requests = 0, faults = 0, steps = 0;
  for (const StepRecord& record : outcome.steps) {
    const bool warm = record.step > outcome.steps.front().step + 2;
    requests += warm ? record.system_requests : 0;
    faults += warm ? record.page_faults : 0;
    steps += warm ? 1 : 0;
  }
  if (steps > 0) {
    printer.line(message("after the first three steps: {} requests for memory from the system, {} page faults a step", requests,
                         std::round(10.0 * static_cast<double>(faults) / static_cast<double>(steps)) / 10.0));
  }
  if (guard.rollbacks > 0) {
    printer.line(message("the guard rolled back {} and skipped {}", counted(guard.rollbacks, "time"),
                         counted(static_cast<int64_t>(guard.skipped.size()), "batch", "es")));
  }
}

void print_heldout(const Printer& printer, const Outcome& outcome, const Corpus& corpus) {
  if (corpus.heldout().empty()) {
    printer.line("held-out loss: none, the text is too short to hold any of it out");
    return;
  }
  const double entropy = unigram_entropy(corpus.training(), corpus.tokenizer().vocab_size());
  printer.line(
      message("held-out loss {} nats per token over {} tokens ({} below the training text's entropy of {} without context)",
              outcome.heldout_loss, corpus.heldout().size() - 1, entropy - outcome.heldout_loss, entropy));
}

}  // namespace

ExitCode Outcome::exit_code() const {
  const bool failed = std::any_of(invariants.begin(), invariants.end(), [](const Invariant& i) { return i.holds == false; });
  if (failed) {
    return ExitCode::InvariantFailed;
  }
  return stopped ? ExitCode::SavedAfterSignal : ExitCode::Done;
}

void report_outcome(const Printer& printer, const Outcome& outcome, const std::optional<SavedCheckpoint>& saved,
                    TrainingRun& run, const TrainingData& data) {
  if (printer.reports()) {
    if (saved) {
      print_manifest(printer, saved->path, saved->manifest);
    }
    print_memory(printer, outcome.memory);
  }
  print_communication(printer, outcome.communication);  // asked for by a flag of its own
  if (printer.reports()) {
    print_end(printer, outcome, run.guard_state());
    if (data.corpus != nullptr) {
      print_heldout(printer, outcome, *data.corpus);
    }
  }
  if (data.corpus != nullptr && !run.config().quiet && !run.config().json) {
    print_sample(printer, run, *data.corpus);
  }
  printer.line("");
  for (const Invariant& invariant : outcome.invariants) {
    printer.verdict(invariant.line());
  }
}

void report_stop(const Printer& printer, const SavedCheckpoint& saved, int64_t steps) {
  printer.verdict(message("stopped by a signal: saved step {} of {}; go on with --resume {}", saved.manifest.step, steps,
                          std::filesystem::path(saved.path).parent_path().string()));
}

void write_summary(const Outcome& outcome, const TrainConfig& config, const Communicator& world) {
  if (world.rank() != 0) {
    return;
  }
  if (!config.summary.empty()) {
    write_whole_file(config.summary, to_json(outcome));
  }
  if (config.json) {
    std::fputs(to_json(outcome).c_str(), stdout);
  }
}

}  // namespace ringlet
