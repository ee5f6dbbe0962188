#include "collectives/ledger.h"

#include <algorithm>

namespace ringlet {

int64_t whole_bytes(const Call& call, int ranks) {
  if (!has_buffers(call.operation)) {
    return 0;
  }
  const Operation operation = call.operation;
  const bool by_shard = operation == Operation::AllGather || operation == Operation::Gather || operation == Operation::Scatter;
  const int64_t elements = operation == Operation::AllToAllV ? call.in.count : agreed_count(call) * (by_shard ? ranks : 1);
  return elements * static_cast<int64_t>(size_of(operation == Operation::Recv ? call.out.dtype : call.in.dtype));
}

int64_t payload_of(Operation operation, int64_t bytes, int ranks) {
  switch (operation) {
    case Operation::AllReduce: return 2 * (ranks - 1) * bytes / ranks;
    case Operation::Gather:
    case Operation::GatherV:
    case Operation::Scatter:
    case Operation::ScatterV: return (ranks - 1) * bytes / ranks / ranks;
    case Operation::Send:
    case Operation::Exchange: return bytes;
    case Operation::Recv: return 0;
    default: return (ranks - 1) * bytes / ranks;
  }
}

LedgerRow& Ledger::row(const std::string& group, int ranks, const Call& call) {
  const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const LedgerRow& one) {
    return one.operation == call.operation && one.control == call.control && one.phase == phase_ && one.group == group;
  });
  if (found != rows_.end()) {
    return *found;
  }
  return rows_.emplace_back(
      LedgerRow{.phase = phase_, .group = group, .operation = call.operation, .control = call.control, .ranks = ranks});
}

}  // namespace ringlet
