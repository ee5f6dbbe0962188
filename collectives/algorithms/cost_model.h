// What an algorithm costs, as closed forms: what one rank sends, exactly, and how long the whole takes, about.
//
//   T = a·α + b·β + c·γ
//   a   messages that one rank sends, one after the other, on the longest way         α   seconds of a message
//   b   bytes of these messages                                                       β   seconds of a byte on the wire
//   c   bytes that one rank adds, or copies on the way                                γ   seconds of such a byte
// (Hockney 1994, as in Thakur, Rabenseifner & Gropp 2005.) Messages that leave together still cost α each: on one host a message
// is the work of a core, and so it is on a wire that takes one at a time.
#pragma once

#include <cstdint>

#include "collectives/algorithms/algorithm.h"

namespace ringlet {

struct Cost {
  double messages = 0;  // a
  double bytes = 0;     // b
  double reduced = 0;   // c
};

/// Seconds. The defaults were measured between 4 and 8 ranks on 2 cores over Open MPI's messages: α lies between the 4 µs of a
/// short message and the 20 µs of one that must be asked for first. On 1 Gbit/s Ethernet take 30 µs and 8 ns.
struct CostModel {
  double alpha = 10e-6;
  double beta = 0.4e-9;
  double gamma = 0.1e-9;

  friend bool operator==(const CostModel&, const CostModel&) = default;
  double seconds(const Cost& cost) const { return cost.messages * alpha + cost.bytes * beta + cost.reduced * gamma; }
};

/// `bytes` is the whole vector: what a rank puts into an all_reduce, a broadcast, a reduce_scatter; what it gets from an
/// all_gather; all that the root of a gather or scatter has. For the slowest rank.
Cost cost_of(Operation operation, Algorithm algorithm, double bytes, int ranks);

/// What rank r of P sends in a collective of `elements` (of the whole vector, as above) of `size` bytes. Exact: also where P
/// does not divide, and in segments. V forms are not in it.
struct Traffic {
  int64_t messages = 0;
  int64_t bytes = 0;
  friend bool operator==(const Traffic&, const Traffic&) = default;
};
struct Payload {
  int64_t elements;
  int64_t size;
  int ranks;
  int root = 0;
};
Traffic traffic_of(Operation operation, Algorithm algorithm, const Payload& payload, int rank);

/// Bytes of scratch memory that the rank with the most holds meanwhile, at most; without a factor. Of the reductions.
int64_t scratch_of(Operation operation, Algorithm algorithm, const Payload& payload);

}  // namespace ringlet
