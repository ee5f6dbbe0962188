// What a rank says it is doing, to be compared before anybody uses the data.
//
// Why: MPI itself answers a wrong dtype, reduce op or root with wrong numbers and exit code 0, and a wrong count or a missing call
// with a hang. Whoever completes a collective has a chain of messages from every rank, each compared at its arrival, so all did
// the same call; rooted operations, in which no such chain reaches everybody, begin with a barrier that makes one.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/call.h"

namespace ringlet {

// [snippet: fingerprint]
/// Plain bytes: equal on all ranks of a group when they make the same call.
struct Fingerprint {
  uint64_t sequence = 0;  // the n-th collective of the group
  uint64_t group = 0;     // a hash of the group's name
  int64_t count = 0;      // elements of the input, or of all parts; −1 where every rank has its own
  int32_t root = -1;      // -1 where there is none
  uint32_t parts = 0;     // a hash of the counts of the parts, where there are several
  float factor = 1;       // of a pre-scaled sum
  Operation operation = Operation::Barrier;
  DType dtype = DType::F32;
  ReduceOp op = ReduceOp::Sum;
  Device::Kind device = Device::Kind::Cpu;

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};
// [/snippet]

/// What does not matter for an operation (the op of a broadcast) is left at its default.
Fingerprint fingerprint_of(const Call& call, uint64_t group);
/// A rank that destroys its communicator after `done` collectives: the end is a call like any other.
Fingerprint leaving_after(uint64_t done, uint64_t group);

/// "all_reduce #12 of 1000 f32, sum", "gather_v #3 of 7 i64 in parts 5d08a1c4, root 1", "leaves after #4".
std::string describe(const Fingerprint& call);
/// "operation, count": where `a` and `b` differ.
std::string differences(const Fingerprint& a, const Fingerprint& b);

}  // namespace ringlet
