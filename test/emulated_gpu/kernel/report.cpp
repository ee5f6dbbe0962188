// What a kernel did wrong, in words. Such a kernel would hang a device, or compute anything: there is nothing to go on with.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "test/emulated_gpu/device/indices.h"
#include "test/emulated_gpu/kernel/block_runner.h"
#include "test/emulated_gpu/kernel/kernel_name.h"

namespace ringlet::emulated_gpu {

void BlockRunner::describe(unsigned thread) const {
  const Thread& t = threads_[thread];
  std::fprintf(stderr, "  thread (%u, %u, %u) ", thread % blockDim.x, thread / blockDim.x % blockDim.y,
               thread / blockDim.x / blockDim.y);
  switch (t.state) {
    case State::NotBegun: std::fprintf(stderr, "has not begun\n"); break;
    case State::Finished: std::fprintf(stderr, "has ended\n"); break;
    case State::Ready: std::fprintf(stderr, "has not come yet\n"); break;
    case State::AtBarrier: std::fprintf(stderr, "is in %s at %s:%d\n", t.site.operation, t.site.file, t.site.line); break;
    case State::InWarp:
      std::fprintf(stderr, "is in %s, mask 0x%08x, at %s:%d\n", t.site.operation, t.mask, t.site.file, t.site.line);
      break;
  }
}

void BlockRunner::report(const char* rule, unsigned thread) const {
  std::fprintf(stderr, "emulated gpu: %s: %s, block (%u, %u, %u)\n", kernel_name(launch_->function).c_str(), rule, blockIdx.x,
               blockIdx.y, blockIdx.z);
  describe(thread);
  const auto same_place = [](const Thread& a, const Thread& b) {
    return a.state == b.state && a.mask == b.mask && a.site.line == b.site.line;
  };
  int described = 0;  // one of each kind, and not more than a few
  for (unsigned other = 0; other < threads_per_block_ && described < 4; ++other) {
    bool is_new = other != thread && !same_place(threads_[other], threads_[thread]);
    for (unsigned before = 0; before < other && is_new; ++before) {
      is_new = !same_place(threads_[before], threads_[other]);
    }
    if (is_new) {
      describe(other);
      ++described;
    }
  }
  std::abort();
}

void BlockRunner::report(const Race& race) const {
  const auto verb = [](AccessKind kind) {
    return kind == AccessKind::Read ? "reads" : kind == AccessKind::Write ? "writes" : "changes atomically";
  };
  std::fprintf(stderr, "emulated gpu: %s: no barrier between two threads that use the same shared memory, block (%u, %u, %u)\n",
               kernel_name(launch_->function).c_str(), blockIdx.x, blockIdx.y, blockIdx.z);
  const auto say = [](const uint3& thread, const char* what, size_t offset) {
    std::fprintf(stderr, "  thread (%u, %u, %u) %s byte %zu\n", thread.x, thread.y, thread.z, what, offset);
  };
  say(indices_[race.before], verb(race.kind_before), race.offset);
  say(indices_[race.now], verb(race.kind_now), race.offset);
  if (barrier_.file != nullptr) {
    std::fprintf(stderr, "  both after the barrier at %s:%d\n", barrier_.file, barrier_.line);
  }
  std::abort();
}

}  // namespace ringlet::emulated_gpu
