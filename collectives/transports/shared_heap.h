// A rank's part of an arena as a source of memory: buffers from here are seen by all ranks where they are.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "tensor/base/arena.h"

namespace ringlet {

/// First fit over [base, base + bytes), which `owner` keeps mapped. Thread-safe.
class SharedHeap final : public Arena {
 public:
  SharedHeap(std::byte* base, size_t bytes, std::shared_ptr<const void> owner);
  /// Throws `Error` when no gap is large enough.
  void* acquire(size_t bytes) override;
  /// Null where `acquire` throws.
  void* try_acquire(size_t bytes);
  void release(void* block, size_t bytes) noexcept override;

 private:
  std::byte* base_;
  size_t bytes_;
  std::shared_ptr<const void> owner_;
  std::mutex mutex_;
  std::map<size_t, size_t> gaps_;  // offset -> bytes, no two adjacent
};

}  // namespace ringlet
