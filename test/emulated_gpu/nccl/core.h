// What an emulated communicator of NCCL is while anybody still needs it: the wire, and whether it was aborted. Operations on a stream
// hold it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "test/emulated_gpu/nccl/wire.h"

namespace ringlet::emulated_gpu {

/// One message of a group.
struct Transfer {
  bool incoming;
  int peer;
  std::span<std::byte> bytes;  // of an outgoing one only read
};

struct Core {
  std::unique_ptr<Wire> wire;
  std::atomic<bool> aborted{false};

  int rank() const { return wire->rank(); }
  int ranks() const { return wire->ranks(); }
  /// All transfers make progress together; those with one peer, in one direction, in order. As with NCCL, what has no counterpart on
  /// the other side, or one of another size, never ends: until the communicator is aborted, which is false.
  bool transfer(std::vector<Transfer> transfers);
  /// Until the communicator is aborted.
  void hang() const;
};

/// What a rank puts on a stream.
using Body = std::function<void(Core&)>;

}  // namespace ringlet::emulated_gpu
