#include "tensor/base/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <new>
#include <utility>

#include "tensor/base/check.h"
#include "tensor/base/gpu.h"

namespace ringlet {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kSlabBytes = size_t{4} << 20;
constexpr size_t kLargestSmall = size_t{256} << 10;  // above this a block comes from the arena by itself

// Large blocks ask for pages of 2 MB, where the system leaves that to programs: a product walks down rows that lie kilobytes apart,
// and with pages of 4 KB each row would wait for the translation of its address. Only whole pages are asked for: none is wasted.
class SystemArena final : public Arena {
 public:
  void* acquire(size_t bytes) override {
    void* block = ::operator new(bytes, alignment_of(bytes), std::nothrow);
    check(block != nullptr, "memory: the system has no {} bytes left", bytes);
    if (bytes >= kHugePage) {
      madvise(block, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);  // a wish: it may be refused
    }
    return block;
  }
  void release(void* block, size_t bytes) noexcept override { ::operator delete(block, alignment_of(bytes)); }

 private:
  static constexpr size_t kHugePage = size_t{2} << 20;
  static std::align_val_t alignment_of(size_t bytes) { return std::align_val_t{bytes >= kHugePage ? kHugePage : kAlignment}; }
};

thread_local AllocatorScope* innermost = nullptr;
// What a thread has without a scope, by device.
thread_local std::deque<std::shared_ptr<Allocator>> own_allocators;

const std::shared_ptr<Allocator>& own_on(Device device) {
  for (const std::shared_ptr<Allocator>& own : own_allocators) {
    if (own->device() == device) {
      return own;
    }
  }
  const bool cpu = device.kind == Device::Kind::Cpu;
  own_allocators.push_back(std::make_shared<Allocator>(cpu ? system_arena() : gpu().memory(device.index)));
  return own_allocators.back();
}

}  // namespace

std::shared_ptr<Arena> system_arena() { return std::make_shared<SystemArena>(); }

std::string_view name_of(Category category) {
  switch (category) {
    case Category::Parameters: return "parameters";
    case Category::Gradients: return "gradients";
    case Category::Optimizer: return "optimizer";
    case Category::Activations: return "activations";
    case Category::Communication: return "communication";
  }
  return "?";
}

Allocator::Allocator(std::shared_ptr<Arena> arena, std::shared_ptr<Allocator> counted_with)
    : arena_(std::move(arena)), counted_with_(std::move(counted_with)), device_(arena_->device()) {}

Allocator::~Allocator() {
  trim();
  for (const Slab& slab : slabs_) {
    arena_->release(slab.begin, slab.size);
  }
}

// [snippet: rounded]
size_t Allocator::rounded(size_t bytes) {
  const size_t quarter = std::max(kAlignment, std::bit_ceil(bytes) / 8);  // four classes between two powers of two
  return (bytes + quarter - 1) / quarter * quarter;
}
// [/snippet]

void* Allocator::take_from_slab(size_t bytes) {
  if (bytes > kLargestSmall) {
    ledger_.arena_requests += 1;
    ledger_.arena_bytes += static_cast<int64_t>(bytes);
    return arena_->acquire(bytes);
  }
  if (uncut_ < bytes) {
    auto* slab = static_cast<std::byte*>(arena_->acquire(kSlabBytes));
    ledger_.arena_requests += 1;
    ledger_.arena_bytes += static_cast<int64_t>(kSlabBytes);
    slabs_.push_back({slab, kSlabBytes});
    cut_ = slab;
    uncut_ = kSlabBytes;
  }
  uncut_ -= bytes;
  return std::exchange(cut_, cut_ + bytes);
}

void* Allocator::allocate(size_t bytes, Category category) {
  if (bytes == 0) {
    return nullptr;
  }
  check(bytes <= (size_t{1} << 46), "memory: {} bytes asked for at once, more than any machine has", bytes);
  const std::lock_guard lock(mutex_);
  const size_t size = rounded(bytes);
  void* block = nullptr;
  if (auto& list = free_[size]; !list.empty()) {
    block = list.back();
    list.pop_back();
    ledger_.cached -= static_cast<int64_t>(size);
  } else {
    block = take_from_slab(size);
  }
  CategoryBytes& counted = ledger_.categories[static_cast<size_t>(category)];
  counted.live += static_cast<int64_t>(bytes);
  counted.peak = std::max(counted.peak, counted.live);
  ledger_.rounding += static_cast<int64_t>(size - bytes);
  if (counted_with_ != nullptr) {
    counted_with_->count(static_cast<int64_t>(bytes), category);
  }
  return block;
}

void Allocator::count(int64_t bytes, Category category) {
  const std::lock_guard lock(mutex_);
  CategoryBytes& counted = ledger_.categories[static_cast<size_t>(category)];
  counted.live += bytes;
  counted.peak = std::max(counted.peak, counted.live);
}

void Allocator::deallocate(void* block, size_t bytes, Category category) noexcept {
  if (block == nullptr) {
    return;
  }
  const std::lock_guard lock(mutex_);
  const size_t size = rounded(bytes);
  ledger_.categories[static_cast<size_t>(category)].live -= static_cast<int64_t>(bytes);
  ledger_.rounding -= static_cast<int64_t>(size - bytes);
  ledger_.cached += static_cast<int64_t>(size);
  free_[size].push_back(block);
  if (counted_with_ != nullptr) {
    counted_with_->count(-static_cast<int64_t>(bytes), category);
  }
}

MemoryLedger Allocator::ledger() const {
  const std::lock_guard lock(mutex_);
  return ledger_;
}

void Allocator::reset_peaks() {
  const std::lock_guard lock(mutex_);
  for (CategoryBytes& counted : ledger_.categories) {
    counted.peak = counted.live;
  }
}

void Allocator::trim() {
  const std::lock_guard lock(mutex_);
  for (auto& [size, list] : free_) {
    if (size > kLargestSmall) {
      for (void* block : list) {
        arena_->release(block, size);
        ledger_.cached -= static_cast<int64_t>(size);
        ledger_.arena_bytes -= static_cast<int64_t>(size);
      }
      list.clear();
    }
  }
}

const std::shared_ptr<Allocator>& Allocator::current() {
  return innermost != nullptr ? innermost->allocator_ : own_on(Device{});
}

const std::shared_ptr<Allocator>& Allocator::on(Device device) {
  for (const AllocatorScope* scope = innermost; scope != nullptr; scope = scope->outer_) {
    if (scope->allocator_->device() == device) {
      return scope->allocator_;
    }
  }
  return own_on(device);
}

AllocatorScope::AllocatorScope(std::shared_ptr<Allocator> allocator)
    : allocator_(std::move(allocator)), outer_(std::exchange(innermost, this)) {}

AllocatorScope::~AllocatorScope() { innermost = outer_; }

}  // namespace ringlet
