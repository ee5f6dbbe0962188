// One call of one rank, checked and written down: what a backend carries out, and what a decorator compares, counts or queues.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "collectives/buffer.h"
#include "collectives/call_site.h"
#include "collectives/reduce_op.h"

namespace ringlet {

/// `Split` and `Leave` (the end of a communicator) are collectives like any other: who does something else meanwhile is told.
/// The V forms have parts of any size.
enum class Operation : uint8_t {
  Broadcast,
  Reduce,
  AllReduce,
  AllGather,
  ReduceScatter,
  Gather,
  Scatter,
  AllToAll,
  AllGatherV,
  ReduceScatterV,
  GatherV,
  ScatterV,
  AllToAllV,
  Barrier,
  Split,
  Leave,
  Send,
  Recv,
  Exchange
};

/// "broadcast", "all_reduce", …: the verbs of `Communicator`.
std::string_view name_of(Operation operation);
inline std::string to_text(Operation operation) { return std::string(name_of(operation)); }

/// A message between two ranks, or two messages.
constexpr bool is_message(Operation operation) {
  return operation == Operation::Send || operation == Operation::Recv || operation == Operation::Exchange;
}
constexpr bool is_collective(Operation operation) { return !is_message(operation); }
constexpr bool is_rooted(Operation operation) {
  return operation == Operation::Broadcast || operation == Operation::Reduce || operation == Operation::Gather ||
         operation == Operation::Scatter || operation == Operation::GatherV || operation == Operation::ScatterV;
}
/// Only the root gives data.
constexpr bool from_root(Operation operation) {
  return operation == Operation::Broadcast || operation == Operation::Scatter || operation == Operation::ScatterV;
}
constexpr bool is_reduction(Operation operation) {
  return operation == Operation::Reduce || operation == Operation::AllReduce || operation == Operation::ReduceScatter ||
         operation == Operation::ReduceScatterV;
}
/// Has one list of counts that is the same on all ranks.
constexpr bool has_counts(Operation operation) {
  return operation == Operation::AllGatherV || operation == Operation::ReduceScatterV || operation == Operation::GatherV ||
         operation == Operation::ScatterV;
}
/// Moves data; the other collectives only meet.
constexpr bool has_buffers(Operation operation) {
  return operation != Operation::Barrier && operation != Operation::Split && operation != Operation::Leave;
}

/// For a broadcast `in` and `out` are the same memory, likewise for everything in place. What an operation does not use on
/// this rank (the output of a gather elsewhere than on its root) is empty, and has the dtype of what it does use.
struct Call {
  Operation operation = Operation::Barrier;
  ConstBuffer in{};
  Buffer out{};
  Reduction op{};
  int peer = -1;                             // the root, the destination; of recv the source
  int source = -1;                           // of exchange
  int tag = 0;                               // of messages
  std::span<const int64_t> counts{};         // of the V forms: elements of each rank's part; of all_to_all_v: to each rank.
                                             // Of many buffers in one call: of each. Borrowed like the buffers
  std::span<const int64_t> source_counts{};  // of all_to_all_v: elements from each rank
  uint64_t sequence = 0;                     // collectives are numbered from 1, alike on all ranks; messages by themselves
  CallSite site{};
  bool control = false;              // a hash, a norm, a vote (control_scope.h)
  const Call* stands_for = nullptr;  // the call of which this is a part on another path: it is what ranks compare. Borrowed

  /// Whose memory the data are in, as the caller sees it; of a recv the output's.
  Device device() const { return operation == Operation::Recv ? out.device : in.device; }
};

/// A reduction or all_gather of `elements` in all, among `ranks`, without data: for formulas.
Call formula_call(Operation operation, int64_t elements, DType dtype, int ranks, Device device = {});

/// Throws the `Error` of a call that rank `rank` of `size` may not make.
void check_call(const Call& call, int rank, int size);

/// Throws the `CommError` of an all_to_all_v whose ranks expect other parts than they are sent. `table` has what all ranks know, rank by
/// rank: what it sends to each, then what it expects from each.
void require_matching_parts(std::span<const int64_t> table, int rank, int size);

/// Throws where a backend that moves host memory is given other.
void check_host_memory(const Call& call, std::string_view backend);

/// The elements that the ranks of the group agree on: of the input, of the output of a recv or scatter, of all parts of a
/// V form; −1 for all_to_all_v, in which every rank has its own.
int64_t agreed_count(const Call& call);

}  // namespace ringlet
