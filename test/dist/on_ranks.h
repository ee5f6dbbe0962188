// Ranks as threads that each report, and whose failures are the test's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "test/support/catch.h"
#include "test/support/report.h"
#include "test/support/run_ranks.h"

namespace ringlet::test {

inline void on_ranks(int ranks, const std::string& about, const std::function<void(Communicator&, Report&)>& body) {
  std::vector<Report> reports(static_cast<size_t>(ranks));
  run_ranks(ranks, [&](Communicator& comm) {
    Report& report = reports[static_cast<size_t>(comm.rank())];
    report.about(about);
    body(comm, report);
  });
  for (const Report& report : reports) {
    CHECK(report.failures() == std::vector<std::string>{});
  }
}

}  // namespace ringlet::test
