// The step of which doubling and halving are made: swap with one peer, and add.
#pragma once

#include <algorithm>

#include "collectives/algorithms/select.h"
#include "collectives/reduce.h"
#include "collectives/transports/point_to_point.h"

namespace ringlet {

/// `give` goes to `peer`; what comes is added to `keep`, the lower rank's operand in front on both sides, so that both sums of an
/// equal pair have the same bits. Either may be empty; `give` may be `keep`. In segments, so that the inbox stays within
/// kInboxBytes and what has arrived is added while it is in the cache.
template <Reducible T>
void swap_and_combine(PointToPoint& net, int peer, std::span<const T> give, std::span<T> keep, Reduction op) {
  const size_t segment = inbox_elements(sizeof(T), 2);
  const Scratch<T> inbox = net.scratch<T>(std::min(segment, keep.size()));
  for (size_t begin = 0; begin < std::max(give.size(), keep.size()); begin += segment) {
    const auto part = [&](auto whole) {
      const size_t from = std::min(begin, whole.size());
      return whole.subspan(from, std::min(segment, whole.size() - from));
    };
    const std::span<const T> leaving = part(give);
    const std::span<T> mine = part(keep), theirs = inbox.first(mine.size());
    const Outgoing out{peer, std::as_bytes(leaving)};
    const Incoming in{peer, std::as_writable_bytes(theirs)};
    net.transfer({&out, leaving.empty() ? 0U : 1U}, {&in, mine.empty() ? 0U : 1U});
    net.rank() < peer ? combine<T>(mine, theirs, mine, op) : combine<T>(theirs, mine, mine, op);
  }
}

}  // namespace ringlet
