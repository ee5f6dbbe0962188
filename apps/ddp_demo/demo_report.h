// What ddp_demo found, as a table, as verdicts, and as a file for machines.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "apps/ddp_demo/demo_config.h"
#include "apps/training/communication_report.h"
#include "apps/training/exit_code.h"
#include "collectives/communicator.h"

namespace ringlet {

/// The most that the averaged gradient may differ from one process's, and the ranks' parameters from each other. fp32 leaves
/// about 1e-8 of the first, and nothing of the second.
inline constexpr double kDemoTolerance = 1e-3;

/// The larger of two differences; NaN, the worst of all, if either is.
inline double worse(double a, double b) { return std::isnan(a) || a >= b ? a : b; }

/// Every number is the same on all ranks, except `ms`.
struct DemoStep {
  double loss = 0;           // mean over the batch, of all ranks
  double gradient_norm = 0;  // after the all_reduce
  double difference = 0;     // max|averaged gradient − gradient of one process on the whole batch|
  double spread = 0;         // of the parameters after the step, over ranks: max − min, the largest
  double ms = 0;             // without the proof
};

struct DemoResult {
  std::vector<DemoStep> steps;
  std::vector<double> parameter_sums;  // by rank
  bool round_trip_ok = false;          // every parameter came back bit for bit, on all ranks
  bool bytes_ok = false;               // and the bytes held were counted to be what they should, on all ranks
  int64_t bytes_whole = 0;
  std::vector<int64_t> bytes_sharded;  // by rank
  double sum_then_divide_us = 0;       // an all_reduce of `timed_bytes`
  double avg_us = 0;
  int64_t timed_bytes = 0;
  double total_ms = 0;
  std::optional<CommunicationReport> communication;  // with --ledger
};

void print_heading(const DemoConfig& config, int64_t parameters, const Communicator& world);
/// (all) The row of step `number`. Throws AgreedFailure on every rank when loss or gradient is not finite.
void report_step(const DemoStep& step, int64_t number, const Communicator& world);
/// (all) Prints the rest, writes the file, and says how it ended.
ExitCode report(const DemoResult& result, const DemoConfig& config, Communicator& world);

}  // namespace ringlet
