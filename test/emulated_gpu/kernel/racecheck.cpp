#include "test/emulated_gpu/kernel/racecheck.h"

#include <algorithm>

namespace ringlet::emulated_gpu {

constinit thread_local bool looks_at_shared_memory = false;
constinit thread_local SharedMemory shared_memory[2] = {};
constinit thread_local bool in_warp_operation = false;

void Racecheck::begin(const void* dynamic, size_t dynamic_bytes, const void* fixed, size_t fixed_bytes) {
  shared_memory[0] = {reinterpret_cast<uintptr_t>(dynamic), dynamic_bytes};
  shared_memory[1] = {reinterpret_cast<uintptr_t>(fixed), fixed_bytes};
  for (size_t memory = 0; memory < 2; ++memory) {
    cells_[memory].resize(std::max(cells_[memory].size(), (shared_memory[memory].bytes + 1) / 2));
  }
}

bool Racecheck::in_order(const Access& before, const Access& now) {
  if (before.passed != now.passed) {
    return true;
  }
  const bool same_thread = before.thread == now.thread && !before.by_warp && !now.by_warp;
  return same_thread || (before.thread / 32 == now.thread / 32 && before.passed_of_warp != now.passed_of_warp);
}

bool Racecheck::readers_in_order(const Access& read, const Access& now) {
  if (read.passed != now.passed || read.readers == Readers::One) {
    return in_order(read, now);
  }
  return read.readers == Readers::OfAWarp && read.thread / 32 == now.thread / 32 && read.passed_of_warp != now.passed_of_warp;
}

// Of the readers since the last barrier the last one is kept, and what it takes for all of them to be in order with a write.
void Racecheck::add_reader(Access& read, Access now) {
  const bool same_thread = read.thread == now.thread && !read.by_warp && !now.by_warp;
  if (read.passed != now.passed) {
    now.readers = Readers::One;
  } else if (read.readers == Readers::OfSeveral || read.thread / 32 != now.thread / 32) {
    now.readers = Readers::OfSeveral;
  } else if (read.passed_of_warp == now.passed_of_warp) {
    now.readers = read.readers == Readers::One && same_thread ? Readers::One : Readers::OfAWarp;
  }
  read = now;
}

std::optional<Race> Racecheck::look(unsigned thread, size_t memory, size_t offset, size_t bytes, AccessKind kind) {
  const Access now{.passed = passed_,
                   .passed_of_warp = passed_of_warp_[thread / 32],
                   .thread = static_cast<uint16_t>(thread & 1023U),
                   .by_warp = in_warp_operation,
                   .kind = kind};
  const size_t end = std::min<size_t>(shared_memory[memory].bytes + 1, offset + bytes + 1) / 2;
  for (size_t i = offset / 2; i < end; ++i) {
    Cell& cell = cells_[memory][i];
    const bool both_atomic = kind == AccessKind::Atomic && cell.write.kind == AccessKind::Atomic;
    if (cell.write.passed == passed_ && !both_atomic && !in_order(cell.write, now)) {
      return Race{cell.write.thread, thread, cell.write.kind, kind, 2 * i};
    }
    if (kind == AccessKind::Read) {
      if (cell.read.passed != passed_ || cell.read.readers != Readers::OfSeveral) {
        add_reader(cell.read, now);
      }
      continue;
    }
    if (!readers_in_order(cell.read, now)) {
      return Race{cell.read.thread, thread, AccessKind::Read, kind, 2 * i};
    }
    cell.write = now;
  }
  return std::nullopt;
}

}  // namespace ringlet::emulated_gpu
