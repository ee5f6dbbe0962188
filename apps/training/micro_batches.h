// How the sequences of a step become micro-batches, and which rank computes which.
//
// G sequences make M = ⌈G/B⌉ micro-batches of B (the last may be smaller). Ranks take contiguous ranges: the first M mod P take
// ⌈M/P⌉, the others ⌊M/P⌋, so with M < P some have none. The partition into micro-batches never depends on P: that is why the
// sums of a step, taken in order T over the micro-batches, have the same bits on 1, 2, 4 or 8 ranks. Where gradients are summed over
// ranks in every micro-batch, they take turns instead: rank r has r, P + r, 2P + r, …
#pragma once

#include <algorithm>
#include <cstdint>

namespace ringlet {

/// begin, begin + stride, … below end
struct IndexRange {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t stride = 1;

  int64_t size() const { return empty() ? 0 : (end - begin + stride - 1) / stride; }
  bool empty() const { return begin >= end; }
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

/// Part r of `items` dealt to P ranks in contiguous ranges whose sizes differ by at most one, the longer ones first.
constexpr IndexRange dealt_to(int64_t items, int P, int r) {
  const int64_t each = items / P, longer = items % P;
  const int64_t begin = r * each + std::min<int64_t>(r, longer);
  return {begin, begin + each + (r < longer ? 1 : 0), 1};
}

struct MicroBatches {
  int64_t sequences = 0;   // G, of a whole step over all ranks
  int64_t batch_size = 1;  // B

  constexpr int64_t count() const { return (sequences + batch_size - 1) / batch_size; }
  /// The sequences of micro-batch m.
  constexpr IndexRange of(int64_t m) const { return {m * batch_size, std::min((m + 1) * batch_size, sequences), 1}; }
};

}  // namespace ringlet
