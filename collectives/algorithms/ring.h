// Ring (Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009). Every rank talks to
// two neighbours only. P ranks, N elements in P chunks; n = N/P.
//   reduce_scatter, all_gather   P−1 messages, N(P−1)/P elements per rank    T ≈ (P−1)·α + N(P−1)/P·β
//   all_reduce                   both: without reduction inside the network no all-reduce can send less
// Chunk c is added starting at rank c+1 and going round, another start for each chunk: not order T, so only by name or where
// any order will do.
#pragma once

#include <algorithm>

#include "collectives/chunks.h"
#include "collectives/reduce.h"
#include "collectives/transports/point_to_point.h"

namespace ringlet {

// [snippet: all_reduce]
template <Reducible T>
void ring_all_reduce(PointToPoint& net, std::span<T> data, Reduction op) {
  const int P = net.size(), r = net.rank();
  const int next = (r + 1) % P, prev = (r + P - 1) % P;
  const Chunks<T> chunk(data, P);  // chunk[i] is a view; i is taken modulo P
  const Scratch<T> inbox = net.scratch<T>(chunk.max_size());
  begin_reduction(data, op);

  for (int s = 0; s < P - 1; ++s) {  // reduce-scatter: partial sums travel right
    const std::span<T> mine = chunk[r - s - 1];
    const std::span<T> theirs = inbox.first(mine.size());
    net.exchange(next, chunk[r - s], prev, theirs);
    reduce_into<T>(mine, theirs, op);
  }  // now chunk[r + 1] is finished on rank r
  finish_reduction(chunk[r + 1], op, P);
  for (int s = 0; s < P - 1; ++s) {  // all-gather: finished chunks travel right
    net.exchange(next, chunk[r + 1 - s], prev, chunk[r - s]);
  }
}
// [/snippet]

/// out = chunk r of the reduction of `full`, which is left as it was; `out` may be chunk r of `full`.
template <Reducible T>
void ring_reduce_scatter(PointToPoint& net, std::span<const T> full, std::span<T> out, Reduction op) {
  const int P = net.size(), r = net.rank();
  const int next = (r + 1) % P, prev = (r + P - 1) % P;
  const Chunks<const T> chunk(full, P);
  const size_t n = chunk.max_size();
  const Scratch<T> memory = net.scratch<T>(op.op == ReduceOp::PreMulSum ? 3 * n : 2 * n);
  const std::span<T> partial = memory.subspan(0, n), inbox = memory.subspan(n, n), box = memory.subspan(2 * n, 0);
  const auto own = [&](int i) { return scaled<T>(chunk[i], {box.data(), chunk[i].size()}, op); };

  std::span<const T> leaving = own(r - 1);
  for (int s = 0; s < P - 1; ++s) {  // what arrives is the sum so far of chunk r − s − 2; add mine and pass it on
    const std::span<T> theirs = inbox.first(chunk[r - s - 2].size());
    net.exchange(next, leaving, prev, theirs);
    const std::span<const T> mine = own(r - s - 2);
    const std::span<T> sum = s == P - 2 ? out : partial.first(mine.size());
    combine<T>(theirs, mine, sum, op);
    leaving = sum;
  }  // the last to arrive was chunk r
  if (P == 1) {
    std::copy(full.begin(), full.end(), out.begin());
    begin_reduction(out, op);
  }
  finish_reduction(out, op, P);
}

/// Chunk r of `full` goes round; the others come by.
template <typename T>
void ring_all_gather(PointToPoint& net, std::span<T> full) {
  const int P = net.size(), r = net.rank();
  const int next = (r + 1) % P, prev = (r + P - 1) % P;
  const Chunks<T> chunk(full, P);
  for (int s = 0; s < P - 1; ++s) {
    net.exchange(next, chunk[r - s], prev, chunk[r - s - 1]);
  }
}

}  // namespace ringlet
