// One call of one rank, checked and written down: what a backend carries out, and what a decorator compares, counts or queues.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collectives/buffer.h"
#include "collectives/reduce_op.h"

namespace ringlet {

/// `Split` and `Leave` (the end of a communicator) are collectives like any other: who does something else meanwhile is told.
enum class Operation : uint8_t { Broadcast, Reduce, AllReduce, AllGather, ReduceScatter, Barrier, Split, Leave, Send, Recv };

/// "broadcast", "all_reduce", …: the verbs of `Communicator`.
std::string_view name_of(Operation operation);
inline std::string to_text(Operation operation) { return std::string(name_of(operation)); }

constexpr bool is_collective(Operation operation) { return operation != Operation::Send && operation != Operation::Recv; }
constexpr bool is_rooted(Operation operation) { return operation == Operation::Broadcast || operation == Operation::Reduce; }
constexpr bool is_reduction(Operation operation) {
  return operation == Operation::Reduce || operation == Operation::AllReduce || operation == Operation::ReduceScatter;
}
/// Moves data; the other collectives only meet.
constexpr bool has_buffers(Operation operation) {
  return operation != Operation::Barrier && operation != Operation::Split && operation != Operation::Leave;
}

/// For a broadcast `in` and `out` are the same memory, likewise for everything in place. `count` is that of `in`
/// (of `out` for recv).
struct Call {
  Operation operation = Operation::Barrier;
  ConstBuffer in{};
  Buffer out{};
  ReduceOp op = ReduceOp::Sum;
  int peer = -1;          // the root, the destination or the source
  int tag = 0;            // send and recv
  uint64_t sequence = 0;  // collectives are numbered from 1, alike on all ranks; messages by themselves
};

}  // namespace ringlet
