// The last 256 calls of each rank, in memory that the ranks of a host share where that can be had: what a rank that died was doing
// can still be read by one that lives.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collectives/call.h"

namespace ringlet {

/// Plain bytes, so that it means the same in another process.
struct CallRecord {
  enum class State : uint8_t { Running, Done, Failed };
  uint64_t number = 0;    // the n-th call of its rank in any group, from 1
  uint64_t sequence = 0;  // in its group
  int64_t count = 0;      // elements of the input (of the output for recv)
  int64_t start_ns = 0;   // since 1970
  int64_t duration_ns = 0;
  int32_t peer = -1;  // root, destination or source
  Operation operation = Operation::Barrier;
  DType dtype = DType::F32;
  ReduceOp op = ReduceOp::Sum;
  State state = State::Running;
  std::array<char, 36> group{};  // ends with 0; a longer name keeps its end
  SiteText site{};
};

/// "running", "done", "failed".
std::string_view name_of(CallRecord::State state);

class CallHistory {
 public:
  static constexpr size_t kCalls = 256;
  /// Of one rank.
  static size_t bytes();

  /// For `ranks` ranks in `memory` of `ranks`·bytes() bytes; this is rank `rank`, whose part begins anew.
  CallHistory(std::shared_ptr<std::byte> memory, int ranks, int rank);
  /// For rank `rank` alone.
  explicit CallHistory(int rank);

  /// Returns the number that `end` wants.
  uint64_t begin(const Call& call, const std::string& group);
  void end(uint64_t number, CallRecord::State state);

  int rank() const { return rank_; }
  /// Of `rank`, the oldest first; empty where its memory cannot be seen or it has not begun. A rank that is running meanwhile may show
  /// its last call half written.
  std::vector<CallRecord> of(int rank) const;
  /// The ranks whose calls can be read here.
  std::vector<int> readable() const;
  /// This process is about to end on purpose, and has said why: others who find it dead need not.
  void say_farewell();
  bool said_farewell(int rank) const;
  /// The process of `rank`, 0 where it cannot be seen.
  int process_of(int rank) const;

 private:
  struct Ring;
  const Ring* ring(int rank) const;
  Ring& own() const;

  std::shared_ptr<std::byte> memory_;
  int first_;  // rank of the first ring in memory
  int ranks_;  // rings in memory
  int rank_;
  int64_t to_wall_ns_;
};

}  // namespace ringlet
