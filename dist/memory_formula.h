// What theory says a rank holds, in bytes, to stand beside what the allocator counted.
#pragma once

#include <cstdint>

namespace ringlet {

/// Of P trainable parameters of b bytes, padded to a multiple of N ranks, and k flat gradients (k = 1 + ⌊log2 micro-batches⌋):
///            parameters   gradients   optimizer
///   ddp      bP           k·bP        bP per kind of state (AdamW: 2)
///   zero1    bP           k·bP        (bP per kind of state + bP for the master copy) / N
/// Frozen parameters and buffers add their bytes to `parameters`.
struct MemoryFormula {
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
};

}  // namespace ringlet
