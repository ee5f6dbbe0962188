// The books of all ranks (collectives/ledger.h) as one table, for people and for machines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/communicator.h"
#include "collectives/recorded.h"

namespace ringlet {

/// The phases of a program's ledger.
inline constexpr const char* kPhaseStart = "start";
inline constexpr const char* kPhaseSteps = "steps";
inline constexpr const char* kPhaseEnd = "end";

/// A row of the ledger over all ranks that have it: of numbers the largest, of times mean and largest.
struct CommunicationRow {
  LedgerRow most;
  double mean_seconds = 0;
  int ranks_with_it = 0;
};

/// What the steps cost, and what came before and after them.
struct CommunicationReport {
  std::vector<CommunicationRow> rows;  // payload first, then control; empty elsewhere than on rank 0
  int64_t steps = 0;

  /// Lines of a table.
  std::vector<std::string> lines() const;
  /// An array: phase, group, operation, control, ranks, calls, bytes, payload_bytes, payload_bytes_per_step (in the phase of the
  /// steps), messages, moved_bytes, seconds_mean, seconds_max. What is not known is null.
  std::string json() const;
};

/// (all) From the ledger as it stands, if there is one; `steps` were taken in the phase kPhaseSteps.
std::optional<CommunicationReport> gather_communication(const Recorder& recorder, int64_t steps, Communicator& world);

}  // namespace ringlet
