// Every algorithm of every operation over the same transport, beside what its cost model says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ringlet {

struct AlgorithmsRun {
  std::vector<std::string> ops;
  int64_t min_bytes, max_bytes, growth;
  double seconds;  // for each algorithm of a row
};

struct AlgorithmRow {
  std::string op, algorithm;
  int64_t bytes;
  double median_us, p99_us, predicted_us;
};

/// Over MPI messages; printed where `speaks`. α, β and γ are the defaults of cost_model.h, so predicted beside measured says how
/// well they fit this machine.
std::vector<AlgorithmRow> race_algorithms(const AlgorithmsRun& run, bool speaks);

}  // namespace ringlet
