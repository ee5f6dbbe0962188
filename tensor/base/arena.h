// Where an allocator gets its memory from.
#pragma once

#include <cstddef>
#include <memory>

#include "tensor/base/device.h"

namespace ringlet {

/// A source of large blocks. The system's memory is one; a window shared between the ranks of a host is another, a GPU's a third.
class Arena {
 public:
  virtual ~Arena() = default;
  /// A block of at least `bytes`, aligned to 64. Throws `Error` when there is none.
  virtual void* acquire(size_t bytes) = 0;
  virtual void release(void* block, size_t bytes) noexcept = 0;
  /// Where its blocks lie.
  virtual Device device() const { return {}; }
};

/// Memory from the system's heap.
std::shared_ptr<Arena> system_arena();

}  // namespace ringlet
