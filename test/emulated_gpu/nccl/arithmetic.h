// The sums of the emulated NCCL, in an order that is not ringlet's: from the rank after the piece's owner round the ring, rounded at
// every step, averages by scaling every input first; minimum and maximum drop a NaN. As NCCL does, so that who relies on more fails.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <vector>

namespace ringlet::emulated_gpu {

/// An operation, and the factor of those that have one.
struct Operator {
  ncclRedOp_t op = ncclSum;  // one of the five
  bool scales = false;
  double factor = 1;
};

size_t size_of(ncclDataType_t type);
/// A scalar of `type`.
double value_of(const void* scalar, ncclDataType_t type);
/// out = inputs[first] ∘ inputs[first + 1] ∘ …, round the ring; n elements each.
void reduce_round(const std::vector<const std::byte*>& inputs, size_t first, std::byte* out, size_t n, ncclDataType_t type,
                  const Operator& op);

}  // namespace ringlet::emulated_gpu
