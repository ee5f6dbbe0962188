#include "collectives/transports/shared_heap.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tensor/base/check.h"

namespace ringlet {
namespace {

constexpr size_t kAlignment = 64;
size_t aligned(size_t bytes) { return std::max((bytes + kAlignment - 1) / kAlignment, size_t{1}) * kAlignment; }

}  // namespace

SharedHeap::SharedHeap(std::byte* base, size_t bytes, std::shared_ptr<const void> owner)
    : base_(base), bytes_(bytes), owner_(std::move(owner)), gaps_{{0, bytes}} {}

void* SharedHeap::acquire(size_t bytes) {
  void* block = try_acquire(bytes);
  check(block != nullptr, "shared arena: no room for {} bytes in {}; make the world with more arena_bytes", bytes, bytes_);
  return block;
}

void* SharedHeap::try_acquire(size_t bytes) {
  const std::lock_guard lock(mutex_);
  const size_t wanted = aligned(bytes);
  const auto gap = std::find_if(gaps_.begin(), gaps_.end(), [&](const auto& one) { return one.second >= wanted; });
  if (gap == gaps_.end()) {
    return nullptr;
  }
  const auto [offset, size] = *gap;
  gaps_.erase(gap);
  if (size > wanted) {
    gaps_.emplace(offset + wanted, size - wanted);
  }
  return base_ + offset;
}

void SharedHeap::release(void* block, size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  const auto offset = static_cast<size_t>(static_cast<std::byte*>(block) - base_);
  auto here = gaps_.emplace(offset, aligned(bytes)).first;
  if (const auto next = std::next(here); next != gaps_.end() && here->first + here->second == next->first) {
    here->second += next->second;
    gaps_.erase(next);
  }
  if (here != gaps_.begin()) {
    if (const auto before = std::prev(here); before->first + before->second == here->first) {
      before->second += here->second;
      gaps_.erase(here);
    }
  }
}

}  // namespace ringlet
