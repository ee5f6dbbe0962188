// What a run prints for people, and the summary that it writes for machines. Only rank 0 speaks.
#pragma once

#include <cstdint>
#include <string>

#include "apps/training/folders.h"
#include "apps/training/memory_profile.h"
#include "apps/training/observer.h"
#include "apps/training/step_record.h"
#include "apps/training/threads.h"
#include "apps/training/train_config.h"
#include "dist/checkpoint/checkpoint_manifest.h"

namespace ringlet {

/// Where and as what a run happens.
struct RunDescription {
  int world_size = 1;
  std::string backend;
  std::string device;
  std::string transport;
  std::string strategy;
  std::string reduction_order;  // of float sums over ranks: "T", or "any"
  int64_t parameters = 0;
  std::string model;    // "2 blocks, width 32, …"
  std::string data;     // Dataset::description
  std::string threads;  // ThreadChoice::text
  std::string batch;    // "16 sequences a step, 4 at a time"
};
RunDescription describe(const TrainConfig& config, const Strategy& parallel, const Communicator& world,
                        const ThreadChoice& threads, const std::string& data);

/// Standard output, or nothing: on other ranks, and as --quiet and --json want it.
class Printer {
 public:
  Printer(const TrainConfig& config, int rank)
      : report_(rank == 0 && !config.quiet && !config.json), verdicts_(rank == 0 && !config.json), speaks_(rank == 0) {}
  /// A line of the report.
  void line(const std::string& text) const;
  /// A line that --quiet prints too.
  void verdict(const std::string& text) const;
  /// A line on stderr, which is not part of the report.
  void note(const std::string& text) const;
  bool reports() const { return report_; }

 private:
  bool report_;
  bool verdicts_;
  bool speaks_;
};

void print_description(const Printer& printer, const RunDescription& description, const ResumePoint& resumed);
void print_memory(const Printer& printer, const MemoryProfile& profile);
void print_manifest(const Printer& printer, const std::string& path, const Manifest& manifest);

/// The table: about 20 rows, in which the first step and the last stand.
class StepTable final : public Observer {
 public:
  /// `every`: steps between rows; 0: steps / 20, rounded up.
  StepTable(const Printer& printer, int64_t steps, int64_t every);
  void on_step(const StepRecord& record) override;

 private:
  const Printer& printer_;
  int64_t steps_;
  int64_t every_;
  bool begun_ = false;
};

}  // namespace ringlet
