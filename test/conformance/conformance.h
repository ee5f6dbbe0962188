// What every backend must do, as one body that runs on any communicator: local, ranks as threads, MPI.
//
// Every rank computes what everybody puts in (serial_reference.h), so it can judge its own output alone; failures are
// collected, and asserted when all ranks are through.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "collectives/communicator.h"
#include "test/support/report.h"

namespace ringlet::test {

struct ConformanceCase {
  const char* sentence;
  void (*run)(Communicator& world, Report& report);
};

const std::vector<ConformanceCase>& movement_cases();   // conformance_movement.cpp
const std::vector<ConformanceCase>& part_cases();       // conformance_parts.cpp
const std::vector<ConformanceCase>& reduction_cases();  // conformance_reduction.cpp
const std::vector<ConformanceCase>& rule_cases();       // conformance_rules.cpp

/// All of it, in the same order on every rank.
inline Report run_conformance(Communicator& world) {
  Report report(message("rank {} of {}: ", world.rank(), world.size()));
  for (const auto* table : {&movement_cases(), &part_cases(), &reduction_cases(), &rule_cases()}) {
    for (const ConformanceCase& one : *table) {
      report.about(one.sentence);
      one.run(world, report);
    }
  }
  return report;
}

/// The element counts around which mistakes live: none, fewer than ranks, one chunk more or less, many.
inline std::vector<int64_t> edge_sizes(int ranks) { return {0, 1, 2, 3, ranks - 1, ranks, ranks + 1, 1000}; }

}  // namespace ringlet::test
