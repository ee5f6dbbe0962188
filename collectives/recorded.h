// A communicator that writes down what is called on it: the last calls always, the books and the timeline where they are wanted.
//
// Cost per call: the history two looks at the clock and about 200 bytes (0.1 us); books and timeline as much again. Without books and
// timeline nothing grows.
#pragma once

#include <memory>

#include "collectives/call_history.h"
#include "collectives/communicator.h"
#include "collectives/ledger.h"
#include "collectives/timeline.h"

namespace ringlet {

/// Where one rank's communicators write; each may be null. Used by the rank's thread only.
struct Recorder {
  std::shared_ptr<CallHistory> history{};
  std::shared_ptr<Ledger> ledger{};
  std::shared_ptr<Timeline> timeline{};

  void begin_phase(const std::string& name) const {
    if (ledger != nullptr) {
      ledger->begin_phase(name);
    }
  }
};

/// `inner` and all that is split from it, recorded. Means the same in every other respect.
std::unique_ptr<Communicator> make_recorded(std::unique_ptr<Communicator> inner, Recorder recorder);

}  // namespace ringlet
