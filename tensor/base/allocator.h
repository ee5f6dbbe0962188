// The one allocator that every byte of a tensor comes from. One per rank: it counts by category and it reuses.
//
// Why reuse: on a fresh page the kernel must find and clear memory first, which costs 50 times as much as writing to a warm
// one. After a few steps of training every request is served from a free list and the system is not asked again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tensor/base/arena.h"

namespace ringlet {

/// What a tensor's bytes are for.
enum class Category : uint8_t { Parameters, Gradients, Optimizer, Activations, Communication };
inline constexpr int kCategories = 5;
std::string_view name_of(Category category);

/// Bytes, counted as requested: what a formula predicts.
struct CategoryBytes {
  int64_t live = 0;
  int64_t peak = 0;
};

/// A snapshot of what one allocator holds. `rounding` and `cached` are kept apart, so that the categories can be compared
/// with a formula to the byte.
struct MemoryLedger {
  std::array<CategoryBytes, kCategories> categories{};
  int64_t rounding = 0;        // bytes lost to size classes in live blocks
  int64_t cached = 0;          // bytes in free lists, ready for reuse
  int64_t arena_requests = 0;  // how often the arena was asked
  int64_t arena_bytes = 0;     // and how much it gave

  const CategoryBytes& of(Category category) const { return categories[static_cast<size_t>(category)]; }
};

/// Counts and reuses. Thread-safe; blocks may be returned from another thread.
class Allocator {
 public:
  /// Live blocks are counted by category with `counted_with` too, where it is given: whose memory this is a part of.
  explicit Allocator(std::shared_ptr<Arena> arena = system_arena(), std::shared_ptr<Allocator> counted_with = nullptr);
  ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  /// A block of at least `bytes`, aligned to 64, its content undefined. Zero bytes give a null pointer.
  void* allocate(size_t bytes, Category category);
  void deallocate(void* block, size_t bytes, Category category) noexcept;

  /// Counts memory that is not the allocator's (a mapping that processes share) as held, or with a negative number as given back.
  void count(int64_t bytes, Category category);

  /// Where its blocks lie.
  Device device() const { return device_; }

  MemoryLedger ledger() const;
  /// Peaks start anew from what is live now.
  void reset_peaks();
  /// Returns the free lists to the arena, except slabs of which a part is in use.
  void trim();

  /// The allocator that tensors made on this thread come from: the innermost `AllocatorScope`, else one of the thread's own.
  static const std::shared_ptr<Allocator>& current();
  /// The same among those of one device: the innermost `AllocatorScope` whose allocator is `device`'s, else one of the thread's own.
  static const std::shared_ptr<Allocator>& on(Device device);

  /// The size class that holds `bytes`: a multiple of 64, at most 1/4 more than asked for above 256.
  static size_t rounded(size_t bytes);

 private:
  friend class AllocatorScope;
  void* take_from_slab(size_t bytes);

  std::shared_ptr<Arena> arena_;
  std::shared_ptr<Allocator> counted_with_;
  Device device_;
  mutable std::mutex mutex_;
  MemoryLedger ledger_;
  std::unordered_map<size_t, std::vector<void*>> free_;  // by rounded size
  struct Slab {
    std::byte* begin;
    size_t size;
  };
  std::vector<Slab> slabs_;   // small blocks are cut from slabs and stay with them
  std::byte* cut_ = nullptr;  // the uncut rest of the newest slab
  size_t uncut_ = 0;
};

/// While it lives, tensors made on this thread come from `allocator`, and so lie on its device.
class AllocatorScope {
 public:
  explicit AllocatorScope(std::shared_ptr<Allocator> allocator);
  ~AllocatorScope();
  AllocatorScope(const AllocatorScope&) = delete;
  AllocatorScope& operator=(const AllocatorScope&) = delete;

 private:
  friend class Allocator;
  std::shared_ptr<Allocator> allocator_;
  AllocatorScope* outer_;
};

}  // namespace ringlet
