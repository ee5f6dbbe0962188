// Faults of the world: a peer that died or disagrees, a wire, a deadline.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "tensor/base/check.h"

namespace ringlet {

/// A collective or a message failed. `what()` reads "all_reduce #12 on rank 1 of 4 (world), peer 2: rule, got".
class CommError : public std::runtime_error {
 public:
  struct Where {
    int rank = -1;            // who reports
    int size = 0;             // of the group in which ranks are counted
    int peer = -1;            // who is to blame, or -1 when not one rank
    std::string operation{};  // "all_reduce"; empty while only the transport knows
    uint64_t sequence = 0;    // the n-th collective of its communicator, counted from 1; 0 = unknown
    std::string group{};      // "world", "world/1"
  };

  CommError(Where where, const std::string& reason);

  int rank() const { return where_.rank; }
  int peer() const { return where_.peer; }
  const std::string& operation() const { return where_.operation; }
  uint64_t sequence() const { return where_.sequence; }
  const Where& where() const { return where_; }
  const std::string& reason() const { return reason_; }

 private:
  Where where_;
  std::string reason_;
};

/// The backend exists in ringlet but not in this build or on this machine (no CUDA, no device). `what()` says why.
class BackendUnavailable : public Error {
 public:
  using Error::Error;
};

}  // namespace ringlet
