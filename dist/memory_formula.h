// What theory says a rank holds, in bytes, to stand beside what the allocator counted.
#pragma once

#include <cstdint>

namespace ringlet {

/// Of P trainable parameters of b bytes, padded to a multiple of N ranks (by unit in zero2, fsdp, hsdp), and k copies of a gradient,
/// k = 1 + ⌊log2 micro-batches⌋; s kinds of state, with AdamW 2:
///            parameters       gradients        optimizer            whole units at the peak
///   ddp      bP               k·bP             s·bP                 -
///   zero1    bP               k·bP             (s + 1)·bP/N         -
///   zero2    bP               bP/N             (s + 1)·bP/N         gradients: two layers and the root, or k·bP when accumulating
///   fsdp     bP/N             bP/N             s·bP/N               the same, and parameters: two layers and the root
/// hsdp is fsdp with N the ranks that share a copy. When gradients are reduced in every micro-batch, it is their shards that are
/// copied k times. Frozen parameters and buffers add their bytes to `parameters`.
struct MemoryFormula {
  int64_t parameters = 0;  // between steps
  int64_t gradients = 0;
  int64_t optimizer = 0;
  int64_t parameters_peak = 0;  // within a step, after a first one
  int64_t gradients_peak = 0;
  /// While the strategy is made of a model whose parameters are deferred: in fsdp and hsdp, which build unit by unit, the shards of the
  /// units so far and the whole one that is being cut. At most `parameters_peak`.
  int64_t parameters_built = 0;
  /// What of it all lies elsewhere (ParallelOptions::offload_dir, offload_to_host), the same in every step.
  struct Offloaded {
    int64_t parameters = 0, gradients = 0, optimizer = 0;
  };
  Offloaded offloaded{};
  int64_t padding = 0;  // bytes of it in one copy of all units
  /// At the peak of a step, in the memory that the parameters are in: what a collective takes (Communicator::scratch_bytes) and copies of
  /// gradients in bf16 while they travel.
  int64_t communication = 0;
};

}  // namespace ringlet
