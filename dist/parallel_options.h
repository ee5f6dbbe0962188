// How a strategy communicates: choices that change time and memory, and no bit of the result unless they say so.
#pragma once

#include <string>

#include "dist/gradient_buckets.h"

namespace ringlet {

struct ParallelOptions {
  /// ddp: how large a piece of the gradient travels at once.
  BucketSizes buckets{};
  /// ddp, zero2, fsdp, hsdp: gradients leave while backward still runs. Otherwise each is waited for before backward goes on.
  bool overlap = true;
  /// Gradients are summed over ranks in every micro-batch, not once per step: shards accumulate instead of whole gradients. Rank r of P
  /// must then take micro-batches r, P + r, 2P + r, … of a step for the sum to be in order T.
  bool reduce_every_micro_batch = false;
  /// Gradients are rounded to bf16 on their way (gradient_wire.h): half the bytes, and other bits.
  bool bf16_gradients = false;
  /// fsdp, hsdp: a layer's parameters are given back after its forward and gathered once more for its backward.
  bool reshard_after_forward = true;
  /// fsdp, hsdp: the next layer's parameters are gathered while this one computes.
  bool prefetch = true;
  /// ddp, zero1, on a GPU: forward and backward of a micro-batch are recorded and repeated (recorded_passes.h). Gradients of ddp then
  /// leave when backward is over.
  bool record = false;
  /// hsdp: how many ranks share one copy; the others are replicas. 0: half of the ranks if they are even in number, else all.
  int shard_ranks = 0;
  /// What only the optimizer needs (master copies, moments, in fsdp and hsdp the shards of parameters) leaves the memory that ranks compute
  /// in. On the CPU, a directory: it lives in files there that are mapped into memory, so that the system may write it out.
  std::string offload_dir{};
  /// On a GPU: it lives in pinned memory of the host, which also computes the update, on a copy of the gradient's shard. Not in ddp, which
  /// updates the very parameters that it computes with.
  bool offload_to_host = false;
};

/// hsdp: the ranks that share one copy, of `ranks` in all.
inline int ranks_per_copy(const ParallelOptions& options, int ranks) {
  return options.shard_ranks > 0 ? options.shard_ranks : ranks % 2 == 0 ? ranks / 2 : ranks;
}

}  // namespace ringlet
