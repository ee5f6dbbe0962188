// Whether two threads of a block use the same shared memory, one of them writing, with no barrier between them.
//
// Kernels are compiled with the calls that -fsanitize=thread puts before every access (racecheck_calls.cpp answers them). For every two
// bytes of shared memory it is kept who wrote them last and who has read them, and how many barriers had been passed: those of the block,
// and __syncwarp of the thread's warp. Shuffles, votes and products of a warp are no barriers: CUDA promises no order of memory for them.
// So a barrier that is missing is found in whatever order the threads run, and also where the values happen to be the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "test/emulated_gpu/device/indices.h"

namespace ringlet::emulated_gpu {

enum class AccessKind : uint8_t { Read, Write, Atomic };

struct Race {
  unsigned before, now;  // threads
  AccessKind kind_before, kind_now;
  size_t offset;  // in bytes, of dynamic shared memory or of the library's static shared memory
};

/// What a call asks first: whether a block runs on this host thread that is looked at, and whether the address is in its dynamic shared
/// memory or its static one.
struct SharedMemory {
  uintptr_t begin, bytes;
};
RINGLET_DEVICE_VARIABLE bool looks_at_shared_memory;
RINGLET_DEVICE_VARIABLE SharedMemory shared_memory[2];

class Racecheck {
 public:
  /// A kernel begins, with this shared memory.
  void begin(const void* dynamic, size_t dynamic_bytes, const void* fixed, size_t fixed_bytes);

  /// A block begins, or all its threads have passed a barrier.
  void pass() { ++passed_; }
  /// The lanes of a warp have.
  void pass_warp(unsigned warp) { ++passed_of_warp_[warp]; }
  /// Thread `thread` uses `bytes` at `offset` of memory `memory`, 0 for dynamic.
  std::optional<Race> look(unsigned thread, size_t memory, size_t offset, size_t bytes, AccessKind kind);

 private:
  enum class Readers : uint8_t { One, OfAWarp, OfSeveral };
  struct Access {         // eight bytes, since there is one for every byte of shared memory
    uint32_t passed = 0;  // 0: there was none
    uint16_t passed_of_warp = 0;
    uint16_t thread : 10 = 0;
    bool by_warp : 1 = false;  // which lane does it is not known
    AccessKind kind : 2 = AccessKind::Read;
    Readers readers : 2 = Readers::One;  // of the last read: who has read since the last barrier
  };
  struct Cell {  // two bytes, the least that an element of shared memory has
    Access write, read;
  };

  static bool in_order(const Access& before, const Access& now);
  static bool readers_in_order(const Access& read, const Access& now);
  static void add_reader(Access& read, Access now);

  std::vector<Cell> cells_[2];  // what earlier blocks left is behind barriers
  uint32_t passed_ = 0;
  uint16_t passed_of_warp_[32] = {};
};

}  // namespace ringlet::emulated_gpu
