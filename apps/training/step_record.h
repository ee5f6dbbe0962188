// What is known of a step when it is over.
#pragma once

#include <cstdint>

namespace ringlet {

/// The same on every rank, but for the times.
struct StepRecord {
  int64_t step = 0;         // counted from 1
  double loss = 0.0;        // summed token losses over counted tokens of the global batch
  double grad_norm = 0.0;   // global, before clipping
  double param_norm = 0.0;  // after the update
  uint64_t param_hash = 0;
  double lr = 0.0;
  double step_ms = 0.0;  // wall time on this rank of batch, forward, backward, reduction and update
  double tokens_per_s = 0.0;
  int64_t page_faults = 0;      // of this process in those step_ms
  int64_t system_requests = 0;  // of this rank's allocator, in them
  int64_t batch = 0;            // what it trained on, counted from 1; beyond `step` by the batches that the guard has skipped
  bool replicas_equal = true;
};

}  // namespace ringlet
