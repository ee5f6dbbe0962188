#include "apps/training/step_json.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/training/hex.h"

namespace ringlet {
namespace {

nlohmann::ordered_json finite_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

// The lines of the steps up to `last`; what is no line of a step ends them.
std::string lines_until(const std::string& path, int64_t last) {
  std::ifstream file(path);
  std::string kept, line;
  while (last > 0 && std::getline(file, line)) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer() ||
        json["step"].get<int64_t>() > last) {
      break;
    }
    kept += line + "\n";
  }
  return kept;
}

}  // namespace

std::string to_json(const StepRecord& record) {
  const nlohmann::ordered_json json = {
      {"step", record.step},
      {"loss", finite_or_null(record.loss)},
      {"grad_norm", finite_or_null(record.grad_norm)},
      {"param_norm", finite_or_null(record.param_norm)},
      {"param_hash", hex(record.param_hash)},
      {"lr", finite_or_null(record.lr)},
      {"step_ms", finite_or_null(record.step_ms)},
      {"tokens_per_s", finite_or_null(record.tokens_per_s)},
  };
  return json.dump();
}

MetricsFile::MetricsFile(const std::string& path, int64_t first_step) : path_(path) {
  if (!path.empty()) {
    file_.emplace(path, lines_until(path, first_step));
  }
}

void MetricsFile::on_rollback(int64_t step) {
  if (file_) {
    const std::string kept = lines_until(path_, step);
    file_.emplace(path_, kept);
  }
}

void MetricsFile::on_step(const StepRecord& record) {
  if (file_) {
    file_->append(to_json(record));
  }
}

}  // namespace ringlet
