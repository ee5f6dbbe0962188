// Memory that an algorithm needs for the length of one call.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "tensor/base/allocator.h"

namespace ringlet {

/// Owns n elements of T from the rank's allocator, undefined at first, and gives them back to its free lists: counted as
/// Communication while held, warm at the next call (fresh memory would cost more than the wire).
template <typename T>
class Scratch {
 public:
  Scratch(std::shared_ptr<Allocator> allocator, size_t n)
      : allocator_(std::move(allocator)),
        elements_(static_cast<T*>(allocator_->allocate(n * sizeof(T), Category::Communication)), n) {}
  ~Scratch() { allocator_->deallocate(elements_.data(), elements_.size_bytes(), Category::Communication); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  size_t size() const { return elements_.size(); }
  std::span<T> first(size_t n) const { return elements_.first(n); }
  std::span<T> subspan(size_t offset, size_t n) const { return elements_.subspan(offset, n); }

 private:
  std::shared_ptr<Allocator> allocator_;
  std::span<T> elements_;
};

}  // namespace ringlet
