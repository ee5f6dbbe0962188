// The bytes behind tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "tensor/base/allocator.h"
#include "tensor/base/device.h"

namespace ringlet {

class Tensor;

/// Writes all elements of `flat`, [numel], contiguous. The same ones whenever it is called.
using Fill = std::function<void(Tensor& flat)>;

/// Owns one block of an allocator, and gives it back to the same one. Tensors share it.
class Storage {
 public:
  Storage(size_t bytes, Category category, const std::shared_ptr<Allocator>& owner = Allocator::current());
  /// Deferred: takes no memory before `begin`.
  Storage(size_t bytes, Category category, Fill fill, const std::shared_ptr<Allocator>& owner = Allocator::current());
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Category category() const { return category_; }
  Device device() const { return owner_->device(); }

  /// Grows with every access that may write. What was saved for backward compares it (autograd/saved.h).
  uint64_t version() const { return version_; }
  void bump_version() { ++version_; }

  /// Gives the bytes back to the allocator. The storage lives on, with every view of it and every seal on it; until `refill` it has
  /// no data.
  void release();
  /// Has bytes again, of undefined content, which the caller fills with what was there before `release`. On that promise the version
  /// stays and seals hold; whoever brings other content bumps it.
  void refill();
  bool released() const { return released_ && fill_ == nullptr; }

  bool deferred() const { return fill_ != nullptr; }
  /// What a deferred storage will begin with.
  const Fill& fill() const { return fill_; }
  void defer(Fill fill) { fill_ = std::move(fill); }
  /// A deferred storage gets its bytes, of undefined content, which the caller fills with what is returned.
  Fill begin();

 private:
  std::shared_ptr<Allocator> owner_;
  std::byte* data_;
  size_t bytes_;
  Category category_;
  uint64_t version_ = 0;
  bool released_ = false;  // or not yet there
  Fill fill_;              // null: not deferred
};

}  // namespace ringlet
