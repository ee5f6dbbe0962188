// The books of one rank: what each collective came to in calls, bytes, messages and time.
//
// Payload is what must travel, whatever the algorithm: the bytes that a rank sends, averaged over the P ranks of the group, when
// nobody sends one that need not be sent. With T the bytes of the whole buffer, of all shards together:
//   all_reduce                                             2(P−1)/P·T        gather, scatter    (P−1)/P²·T
//   reduce_scatter, all_gather, all_to_all, broadcast, reduce  (P−1)/P·T     send, exchange     T; recv 0
// What a transport really moved stands beside it, in the row of the operation during which it was noticed: of operations under way at the
// same time one may have what another did, their sum is right. Control (control_scope.h) has rows of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/call.h"
#include "collectives/moved.h"

namespace ringlet {

/// T of the comment above, as this rank sees it in its `call`.
int64_t whole_bytes(const Call& call, int ranks);
/// What T bytes come to, rounded down.
int64_t payload_of(Operation operation, int64_t bytes, int ranks);

struct LedgerRow {
  std::string phase{};  // of the program: "training"
  std::string group{};  // "world", "world/1"
  Operation operation = Operation::Barrier;
  bool control = false;
  int ranks = 1;
  int64_t calls = 0;
  int64_t bytes = 0;   // Σ T
  double seconds = 0;  // that the caller spent in its calls and waits
  std::optional<Moved> moved{};

  int64_t payload() const { return payload_of(operation, bytes, ranks); }
};

class Ledger {
 public:
  /// From here on rows of their own.
  void begin_phase(std::string name) { phase_ = std::move(name); }
  /// The row of such a call, new or not. Valid until the next call of this.
  LedgerRow& row(const std::string& group, int ranks, const Call& call);
  /// In the order in which they began.
  const std::vector<LedgerRow>& rows() const { return rows_; }

 private:
  std::string phase_;
  std::vector<LedgerRow> rows_;
};

}  // namespace ringlet
