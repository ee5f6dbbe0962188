// Barriers, and what the lanes of a warp do together. A call that not all of those named reach ends the program with a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "test/emulated_gpu/device/indices.h"

namespace ringlet::emulated_gpu {

/// Where in the source a thread waits.
struct Site {
  const char* operation;
  const char* file;
  int line;
};

/// Waits for every thread of the block.
void wait_for_block(Site site);

/// What the lanes of a mask have brought along; null for lanes that take no part. Threads that the block lacks are no lanes.
using LaneArguments = void* const*;  // [32]

/// Waits until all lanes of `mask` are here; the last to come runs `together` on what they brought.
void wait_for_lanes(uint32_t mask, Site site, void* argument, void (*together)(LaneArguments lanes));

/// What one lane brings to a shuffle, and takes home.
template <typename T>
struct ShuffleLane {
  T value;
  unsigned source;
  T result;
};

// A lane that reads one that takes no part gets 0xff bytes: on a device, anything.
template <typename T>
void shuffle_together(LaneArguments lanes) {
  for (int lane = 0; lane < 32; ++lane) {
    if (auto* mine = static_cast<ShuffleLane<T>*>(lanes[lane])) {
      if (const auto* theirs = static_cast<const ShuffleLane<T>*>(lanes[mine->source])) {
        mine->result = theirs->value;
      } else {
        std::memset(static_cast<void*>(&mine->result), 0xff, sizeof(T));
      }
    }
  }
}

template <typename T>
T shuffle(uint32_t mask, T value, unsigned source, Site site) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  ShuffleLane<T> lane{value, source, value};
  wait_for_lanes(mask, site, &lane, shuffle_together<T>);
  return lane.result;
}

uint32_t ballot(uint32_t mask, bool predicate, Site site);
int count_in_block(bool predicate, Site site);

}  // namespace ringlet::emulated_gpu

#define RINGLET_CALLER const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(RINGLET_CALLER) { ringlet::emulated_gpu::wait_for_block({"__syncthreads", file, line}); }
inline int __syncthreads_count(int predicate, RINGLET_CALLER) {
  return ringlet::emulated_gpu::count_in_block(predicate != 0, {"__syncthreads_count", file, line});
}
inline int __syncthreads_or(int predicate, RINGLET_CALLER) {
  return ringlet::emulated_gpu::count_in_block(predicate != 0, {"__syncthreads_or", file, line}) > 0;
}
inline int __syncthreads_and(int predicate, RINGLET_CALLER) {
  return ringlet::emulated_gpu::count_in_block(predicate == 0, {"__syncthreads_and", file, line}) == 0;
}
inline void __syncwarp(unsigned mask = 0xffffffffU, RINGLET_CALLER) {
  ringlet::emulated_gpu::wait_for_lanes(mask, {"__syncwarp", file, line}, nullptr, nullptr);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, RINGLET_CALLER) {
  return ringlet::emulated_gpu::ballot(mask, predicate != 0, {"__ballot_sync", file, line});
}
inline int __any_sync(unsigned mask, int predicate, RINGLET_CALLER) {
  return ringlet::emulated_gpu::ballot(mask, predicate != 0, {"__any_sync", file, line}) != 0;
}
inline int __all_sync(unsigned mask, int predicate, RINGLET_CALLER) {
  return ringlet::emulated_gpu::ballot(mask, predicate == 0, {"__all_sync", file, line}) == 0;
}

// A warp falls into groups of `width` lanes, a power of two; a shuffle stays inside a group.
template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, RINGLET_CALLER) {
  const unsigned lane = ringlet::emulated_gpu::lane_index, w = static_cast<unsigned>(width);
  const unsigned from = (lane & ~(w - 1)) | (static_cast<unsigned>(source) & (w - 1));
  return ringlet::emulated_gpu::shuffle(mask, value, from, {"__shfl_sync", file, line});
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, RINGLET_CALLER) {
  const unsigned lane = ringlet::emulated_gpu::lane_index, w = static_cast<unsigned>(width);
  const unsigned from = lane ^ static_cast<unsigned>(lane_mask);
  return ringlet::emulated_gpu::shuffle(mask, value, from < (lane & ~(w - 1)) + w ? from : lane,
                                        {"__shfl_xor_sync", file, line});
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, RINGLET_CALLER) {
  const unsigned lane = ringlet::emulated_gpu::lane_index, w = static_cast<unsigned>(width);
  const unsigned from = lane + delta;
  return ringlet::emulated_gpu::shuffle(mask, value, from < (lane & ~(w - 1)) + w ? from : lane,
                                        {"__shfl_down_sync", file, line});
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, RINGLET_CALLER) {
  const unsigned lane = ringlet::emulated_gpu::lane_index, w = static_cast<unsigned>(width);
  const unsigned from = (lane & (w - 1)) >= delta ? lane - delta : lane;
  return ringlet::emulated_gpu::shuffle(mask, value, from, {"__shfl_up_sync", file, line});
}
#undef RINGLET_CALLER
