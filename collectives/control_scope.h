// Hashes, norms, votes: what ranks say to each other about their work is not the work, and is counted apart.
#pragma once

#include <utility>

#include "collectives/communicator.h"

namespace ringlet {

/// While it lives, the calls of `comm` are marked as control (`Call::control`). A mark only: nothing else depends on it.
class [[nodiscard]] ControlScope {
 public:
  explicit ControlScope(Communicator& comm) : comm_(comm), before_(std::exchange(comm.control_, true)) {}
  ~ControlScope() { comm_.control_ = before_; }
  ControlScope(const ControlScope&) = delete;
  ControlScope& operator=(const ControlScope&) = delete;

 private:
  Communicator& comm_;
  bool before_;
};

}  // namespace ringlet
