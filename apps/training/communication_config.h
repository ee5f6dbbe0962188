// What every program's command line says about its communication.
#pragma once

#include <chrono>
#include <string>

#include "apps/training/flags.h"
#include "collectives/algorithms/select.h"

namespace ringlet {

struct CommunicationConfig {
  double timeout_s = 60;                      // --comm-timeout
  bool ledger = false;                        // --ledger
  std::string trace;                          // --trace; empty: none
  std::string call_history;                   // --call-history; empty: a new folder under runs/
  std::string algorithm = "auto";             // --algorithm
  std::string reduction_order = "canonical";  // --reduction-order

  Algorithms algorithms() const;
  std::chrono::milliseconds deadline() const { return std::chrono::milliseconds(static_cast<int64_t>(timeout_s * 1000)); }
};

/// Adds the flags. The default of --comm-timeout is that of the environment (factory.h); UsageError when that is no number.
void communication_flags(Flags& flags, CommunicationConfig& config);

}  // namespace ringlet
