// Positions sorted by the id that stands there, those of one id ascending: what turns a scatter into sums of fixed order.
#pragma once

#include <cstdint>

namespace ringlet::kernels::cuda {

/// ids[positions[i]] ascends with i, and where it does not, positions[i] does.
struct SortedPositions {
  const int32_t* ids;        // [N]   sorted
  const int32_t* positions;  // [N]
};

/// Of N < 2^31 ids. One outside 0 .. V−1 counts as V and so stands at the end. All are device pointers; the result lies in the
/// thread's scratch and lives until its next use. Cost: ⌈log2(V + 1) / 8⌉ passes of three launches that read and write 8 bytes
/// for an id, some 10 us each up to N = 65,536; independent of V otherwise.
SortedPositions sort_positions(const int32_t* ids, int64_t N, int64_t V);

}  // namespace ringlet::kernels::cuda
