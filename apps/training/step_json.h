// Step records for machines, as JSON objects of one line.
#pragma once

#include <optional>
#include <string>

#include "apps/training/observer.h"
#include "apps/training/output_file.h"
#include "apps/training/step_record.h"

namespace ringlet {

/// {"step":1,"loss":…,"grad_norm":…,"param_norm":…,"param_hash":"16 hex digits","lr":…,"step_ms":…,"tokens_per_s":…}
/// A number that is not finite is null.
std::string to_json(const StepRecord& record);

/// --metrics: JSONL, a line per step.
class MetricsFile final : public Observer {
 public:
  /// An empty path writes nothing. After a resume at `first_step` > 0 the lines up to it are kept, what followed them is dropped.
  MetricsFile(const std::string& path, int64_t first_step);
  void on_step(const StepRecord& record) override;
  /// Drops the lines of steps that have not been.
  void on_rollback(int64_t step) override;

 private:
  std::string path_;
  std::optional<LineFile> file_;
};

}  // namespace ringlet
