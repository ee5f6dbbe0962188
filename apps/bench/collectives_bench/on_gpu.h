// The operations on the memory of GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/communicator.h"

namespace ringlet {

struct ByteRange {
  int64_t first, last, growth;
};

struct GpuRow {
  std::string op;
  int64_t bytes;
  double median_us, p99_us;
  double bus_gb_s;  // what each GPU must send, in the median time: 2(P−1)/P·bytes of all_reduce, as nccl-tests counts
};

/// (all) Printed by rank 0. From the first rank's start until the last GPU is done.
std::vector<GpuRow> time_on_gpu(Communicator& world, const std::vector<std::string>& ops, const ByteRange& range,
                                double seconds);

}  // namespace ringlet
