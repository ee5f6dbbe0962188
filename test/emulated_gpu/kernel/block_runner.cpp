#include "test/emulated_gpu/kernel/block_runner.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <utility>

#include "test/emulated_gpu/device/indices.h"
#include "test/emulated_gpu/kernel/static_shared.h"
#include "test/emulated_gpu/runtime/knobs.h"

constinit thread_local uint3 threadIdx{};
constinit thread_local uint3 blockIdx{};
constinit thread_local dim3 blockDim{};
constinit thread_local dim3 gridDim{};

namespace ringlet::emulated_gpu {

constinit thread_local void* dynamic_shared_memory = nullptr;
constinit thread_local unsigned lane_index = 0;

namespace {

// So many blocks of a kernel are looked at, at its beginning and at its end: the others do the same again.
constexpr size_t kLookedAt = 2;

// The same words are mostly at the same place.
bool same(const char* a, const char* b) { return a == b || std::strcmp(a, b) == 0; }

}  // namespace

BlockRunner& BlockRunner::current() {
  // On the heap: a library that is opened at run time has room for few bytes of thread-local memory.
  thread_local const auto own = std::make_unique<BlockRunner>();
  BlockRunner& runner = *own;
  return runner;
}

void BlockRunner::run(const KernelLaunch& launch) {
  if (!scheduler_) {
    scheduler_ = std::make_unique<Context>();
  }
  launch_ = &launch;
  blockDim = launch.block;
  gridDim = launch.grid;
  kind_of_order_ = order();
  random_.seed();
  threads_per_block_ = launch.block.x * launch.block.y * launch.block.z;
  indices_.clear();
  for (unsigned i = 0; i < threads_per_block_; ++i) {
    indices_.push_back({i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y});
  }
  // Of the exact size, so that AddressSanitizer sees what is read or written past it.
  void* memory = nullptr;
  if (launch.shared_bytes > 0 && posix_memalign(&memory, 128, launch.shared_bytes) != 0) {
    throw std::bad_alloc();
  }
  const std::unique_ptr<void, decltype(&std::free)> shared(memory, std::free);
  dynamic_shared_memory = memory;
  std::vector<unsigned> blocks(static_cast<size_t>(launch.grid.x) * launch.grid.y * launch.grid.z);
  std::iota(blocks.begin(), blocks.end(), 0U);
  put_in_order(blocks);
  const StaticShared filled(launch.function);
  racecheck_.begin(memory, launch.shared_bytes, filled.begin(), filled.bytes());
  for (size_t k = 0; k < blocks.size(); ++k) {
    const unsigned block = blocks[k];
    looks_at_shared_memory = looks_for_races() && (k < kLookedAt || k + kLookedAt >= blocks.size());
    blockIdx = {block % gridDim.x, block / gridDim.x % gridDim.y, block / gridDim.x / gridDim.y};
    if (launch.shared_bytes > 0) {
      std::memset(dynamic_shared_memory, 0xff, launch.shared_bytes);
    }
    run_block();
  }
  looks_at_shared_memory = false;
}

void BlockRunner::run_block() {
  racecheck_.pass();
  barrier_ = {};
  threads_.assign(threads_per_block_, Thread{});
  groups_.resize((threads_per_block_ + 31) / 32);
  for (auto& of_warp : groups_) {
    of_warp.clear();
  }
  order_.resize(threads_per_block_);
  std::iota(order_.begin(), order_.end(), 0U);
  put_in_order(order_);
  next_ = finished_ = at_barrier_ = 0;
  while (true) {
    if (ready_begin_ < ready_.size()) {
      resume(ready_[ready_begin_++]);
    } else if (next_ < threads_per_block_) {
      if (idle_.empty()) {
        const auto main = [](void* self) { static_cast<BlockRunner*>(self)->run_threads(); };
        stacks_.push_back(std::make_unique<Context>(main, this));
        idle_.push_back(stacks_.back().get());
      }
      entering_ = idle_.back();
      idle_.pop_back();
      scheduler_->switch_to(*entering_);
    } else if (finished_ == threads_per_block_) {
      return;
    } else if (at_barrier_ == threads_per_block_) {
      release_block();
    } else {
      const auto waits = [](const Thread& thread) { return thread.state != State::Finished; };
      report("a thread waits for others that do not come",
             static_cast<unsigned>(std::find_if(threads_.begin(), threads_.end(), waits) - threads_.begin()));
    }
  }
}

void BlockRunner::run_threads() {
  Context* own = entering_;
  while (true) {
    while (next_ < threads_per_block_ && ready_begin_ == ready_.size()) {
      begin(order_[next_++], own);
    }
    idle_.push_back(own);
    own->switch_to(*scheduler_);
  }
}

void BlockRunner::begin(unsigned thread, Context* own) {
  go_to(thread);
  threads_[thread].stack = own;
  launch_->body();
  threads_[running_].state = State::Finished;  // the same thread, on the same stack
  ++finished_;
}

void BlockRunner::resume(unsigned thread) {
  go_to(thread);
  scheduler_->switch_to(*threads_[thread].stack);
}

void BlockRunner::stop() { threads_[running_].stack->switch_to(*scheduler_); }

void BlockRunner::wait_for_block(Site site) {
  threads_[running_].state = State::AtBarrier;
  threads_[running_].site = site;
  if (at_barrier_++ == 0) {
    barrier_ = site;
  } else if (barrier_.line != site.line || !same(barrier_.file, site.file)) {
    report("threads of a block wait at different barriers", running_);
  }
  stop();
}

void BlockRunner::release_block() {
  racecheck_.pass();
  at_barrier_ = 0;
  counted_ = std::exchange(count_, 0);
  ready_.resize(threads_per_block_);
  std::iota(ready_.begin(), ready_.end(), 0U);
  put_in_order(ready_);
  ready_begin_ = 0;
  for (Thread& thread : threads_) {
    thread.state = State::Ready;
  }
}

// `counted_` keeps until all have come again, so every thread reads its own round.
int BlockRunner::count_in_block(bool predicate, Site site) {
  count_ += predicate ? 1 : 0;
  wait_for_block(site);
  return counted_;
}

void BlockRunner::wait_for_lanes(uint32_t mask, Site site, void* argument, void (*together)(LaneArguments)) {
  Thread& mine = threads_[running_];
  const unsigned first = running_ / 32 * 32, lanes = std::min(32U, threads_per_block_ - first);
  mask &= lanes == 32 ? 0xffffffffU : (1U << lanes) - 1;
  mine = {.state = State::InWarp, .mask = mask, .stack = mine.stack, .site = site, .argument = argument};
  if ((mask >> lane_index & 1U) == 0) {
    report("a lane waits with a mask that lacks it", running_);
  }
  auto& groups = groups_[running_ / 32];
  const auto found = std::find_if(groups.begin(), groups.end(), [&](const LaneGroup& group) { return group.mask == mask; });
  LaneGroup& group = found != groups.end() ? *found : groups.emplace_back(LaneGroup{.mask = mask});
  if (group.arrived == 0) {
    group.operation = site.operation;
  } else if (!same(group.operation, site.operation)) {
    report("lanes of a warp wait in different operations", running_);
  }
  group.arrived |= 1U << lane_index;
  if (group.arrived != mask) {
    stop();
  } else {
    group.arrived = 0;
    if (same(site.operation, "__syncwarp") && mask == (lanes == 32 ? 0xffffffffU : (1U << lanes) - 1)) {
      racecheck_.pass_warp(running_ / 32);
    }
    release_lanes(first, mask, together);
  }
}

void BlockRunner::release_lanes(unsigned first, uint32_t mask, void (*together)(LaneArguments)) {
  void* arguments[32] = {};
  std::vector<unsigned> released;
  for (unsigned i = 0; i < 32; ++i) {
    if ((mask >> i & 1U) != 0) {
      arguments[i] = threads_[first + i].argument;
      threads_[first + i].state = State::Ready;
      if (first + i != running_) {
        released.push_back(first + i);
      }
    }
  }
  if (together != nullptr) {
    together(arguments);
  }
  put_in_order(released);
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(ready_begin_));
  ready_begin_ = 0;
  ready_.insert(ready_.end(), released.begin(), released.end());
}

void BlockRunner::look_at(size_t memory, size_t offset, size_t bytes, AccessKind kind) {
  if (const auto race = racecheck_.look(running_, memory, offset, bytes, kind)) {
    report(*race);
  }
}

void BlockRunner::put_in_order(std::vector<unsigned>& threads) {
  if (kind_of_order_ == Order::Reverse) {
    std::reverse(threads.begin(), threads.end());
  } else if (kind_of_order_ == Order::Shuffled) {
    std::shuffle(threads.begin(), threads.end(), random_);
  }
}

void BlockRunner::go_to(unsigned thread) {
  running_ = thread;
  threadIdx = indices_[thread];
  lane_index = thread % 32;
}

}  // namespace ringlet::emulated_gpu
