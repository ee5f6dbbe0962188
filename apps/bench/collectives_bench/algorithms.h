// Every algorithm of every operation over the same transport, beside what its cost model says.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ringlet {

struct AlgorithmsRun {
  std::vector<std::string> ops;
  int64_t min_bytes, max_bytes, growth;
  double seconds;  // for each algorithm of a row
};

/// Rows of {op, bytes, ranks, algorithm, ours_us, ours_p99_us, predicted_us}; printed where `speaks`. Over MPI messages. α, β and γ are those
/// of the defaults (cost_model.h), so the ratio of a row says how well they fit this machine.
std::vector<nlohmann::ordered_json> race_algorithms(const AlgorithmsRun& run, bool speaks);

}  // namespace ringlet
